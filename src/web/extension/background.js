// Saves links from the menu of the browser, and opens the settings after the installation.

import { isSavable, save, settings } from "./server.js";

const MENU = "save-link";

chrome.runtime.onInstalled.addListener(async ({ reason }) => {
  chrome.contextMenus.removeAll(() => {
    chrome.contextMenus.create({ id: MENU, title: chrome.i18n.getMessage("saveLink"), contexts: ["link"] });
  });
  if (reason === "install") await chrome.runtime.openOptionsPage();
});

chrome.contextMenus.onClicked.addListener(async (info, tab) => {
  if (info.menuItemId !== MENU || !isSavable(info.linkUrl)) return;
  const kept = await settings();
  if (!kept) return chrome.runtime.openOptionsPage();
  try {
    await save(kept, { url: info.linkUrl, html: null }, []);
    await badge(tab, "✓", chrome.i18n.getMessage("saved"));
  } catch (failure) {
    await badge(tab, "!", chrome.i18n.getMessage(...(failure.text ?? ["unreachable"])));
  }
});

async function badge(tab, text, title) {
  const tabId = tab?.id;
  await chrome.action.setBadgeText({ tabId, text });
  await chrome.action.setTitle({ tabId, title });
}
