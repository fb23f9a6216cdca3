// Dialogs: a link with data-dialog opens the page of its address over this one. The module that does it is fetched with the first one.

/** Opens the main content of an own page as a dialog. */
export async function openDialog(url, opener) {
  try {
    const { showDialog } = await import("./dialog-page.js");
    await showDialog(url, opener);
  } catch { location.assign(url); }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-dialog]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  openDialog(link.href, link);
});
