// The pages before a session: passwords can be shown, and a new account gets the time zone of the browser.
for (const button of document.querySelectorAll("[data-show-password]")) {
  const input = document.getElementById(button.getAttribute("aria-controls"));
  button.hidden = false;
  button.addEventListener("click", () => {
    const shown = input.type === "password";
    input.type = shown ? "text" : "password";
    button.setAttribute("aria-pressed", String(shown));
  });
}

for (const input of document.querySelectorAll("[data-time-zone]")) {
  input.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}
