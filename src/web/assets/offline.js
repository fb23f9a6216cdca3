// Registers the worker that keeps what was opened readable without a connection, and keeps marks that are made meanwhile.
import { trusted } from "./swap.js";
import { announce } from "./toast.js";

if ("serviceWorker" in navigator && window.isSecureContext) {
  addEventListener("load", () => { navigator.serviceWorker.register(trusted("/sw.js")).catch(() => {}); });
}

/** Whether a form can be sent later: its action only sets what a user may set again, on documents that it names. */
const mayWait = (form, body) => form.dataset.offline?.split(" ").includes(body.get("action")) && !body.get("all");

function keep(url, body) {
  const refused = () => announce(document.getElementById("live-region")?.dataset.offline ?? "", true);
  import("./offline-marks.js").then(({ keepMark }) => keepMark(url, body)).catch(refused);
}

// A form that a script sends, and that found no connection.
document.addEventListener("carrel:unsent", (event) => {
  const { form, url, body } = event.detail;
  if (!(body instanceof URLSearchParams) || !mayWait(form, body)) return;
  event.preventDefault();
  keep(url, body);
});

// A form that the browser sends: without a connection its page would be lost.
document.addEventListener("submit", (event) => {
  const form = event.target.closest?.("form[data-offline]:not([data-swap])");
  if (!form || navigator.onLine || event.defaultPrevented) return;
  const body = new URLSearchParams(new FormData(form, event.submitter));
  if (!mayWait(form, body)) return;
  event.preventDefault();
  keep(form.getAttribute("action"), body);
});

const sendWaiting = () => {
  if (localStorage.getItem("carrel-waiting")) import("./offline-marks.js").then(({ sendMarks }) => sendMarks()).catch(() => {});
};
addEventListener("online", sendWaiting);
sendWaiting();
