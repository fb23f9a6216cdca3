// Registers the worker that keeps what was opened readable without a connection.
import { trusted } from "./swap.js";

if ("serviceWorker" in navigator && window.isSecureContext) {
  addEventListener("load", () => { navigator.serviceWorker.register(trusted("/sw.js")).catch(() => {}); });
}
