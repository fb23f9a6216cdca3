// Keeps the focus when elements of the page are replaced: most buttons have no id by which the new one could be found.

/** What a control is recognised by: its kind, its name, and where it leads. */
const kindOf = (control) => {
  const target = control.getAttribute("href") ?? control.getAttribute("formaction") ?? control.form?.getAttribute("action");
  return [control.localName, control.getAttribute("name"), target].join(" ");
};

const controlsLike = (part, kind) => [...part.querySelectorAll(kind.split(" ", 1)[0])].filter((it) => kindOf(it) === kind);

/** The selected characters of a text field; null for all others. */
const selectionOf = (field) => typeof field.selectionStart === "number" ? [field.selectionStart, field.selectionEnd] : null;

/** Notes what has the focus before elements with these ids are replaced. Returns a function that puts the focus back afterwards. */
export function holdFocus(ids) {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return () => {};
  const partId = ids.find((id) => document.getElementById(id)?.contains(focused));
  const kind = kindOf(focused);
  const peers = partId ? controlsLike(document.getElementById(partId), kind) : [];
  const selection = selectionOf(focused);

  /** The control that stands for the old one: that with its value, or, of as many as before, that in its place. */
  const find = (part) => {
    if (focused.id) return document.getElementById(focused.id);
    const controls = controlsLike(part, kind);
    const same = controls.length === peers.length ? controls[peers.indexOf(focused)] : undefined;
    if (same && same.value === focused.value) return same;
    return controls.find((it) => it.value === focused.value) ?? same;
  };

  return () => {
    const part = document.getElementById(partId ?? ids.find((id) => document.getElementById(id)));
    if (focused.isConnected || !part) return;
    const control = find(part);
    control?.focus({ preventScroll: true });
    if (control && document.activeElement === control) {
      if (selection) control.setSelectionRange?.(...selection);
      return;
    }
    // Never back to the body: the next Tab would start at the top of the page.
    const heading = part.querySelector("h1, h2") ?? part;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  };
}
