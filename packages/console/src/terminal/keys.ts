/** What a terminal sends for keys that type no text. Pure. */
export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

const esc = "\x1b";
const plain: Readonly<Record<string, string>> = {
  Enter: "\r",
  Backspace: "\x7f",
  Tab: "\t",
  Escape: esc,
  PageUp: `${esc}[5~`,
  PageDown: `${esc}[6~`,
  Insert: `${esc}[2~`,
  Delete: `${esc}[3~`,
  F1: `${esc}OP`,
  F2: `${esc}OQ`,
  F3: `${esc}OR`,
  F4: `${esc}OS`,
  F5: `${esc}[15~`,
  F6: `${esc}[17~`,
  F7: `${esc}[18~`,
  F8: `${esc}[19~`,
  F9: `${esc}[20~`,
  F10: `${esc}[21~`,
  F11: `${esc}[23~`,
  F12: `${esc}[24~`,
};
const cursor: Readonly<Record<string, string>> = {
  ArrowUp: "A",
  ArrowDown: "B",
  ArrowRight: "C",
  ArrowLeft: "D",
  End: "F",
  Home: "H",
};

/** Undefined for keys that type text, and for those of the browser and of the page. */
export function sequenceOf(event: Key, hasApplicationCursorKeys: boolean): string | undefined {
  const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
  if (metaKey) return undefined;
  // Shift with Tab leaves the terminal, with the others it scrolls.
  if (shiftKey && /^(?:Tab|Page(?:Up|Down)|Home|End)$/.test(key)) return undefined;
  const direction = Object.hasOwn(cursor, key) ? cursor[key] : undefined;
  if (direction !== undefined)
    return ctrlKey
      ? `${esc}[1;5${direction}`
      : `${esc}${hasApplicationCursorKeys ? "O" : "["}${direction}`;
  if (ctrlKey && !altKey && key.length === 1) {
    const code = key.toUpperCase().charCodeAt(0);
    if (key === " ") return "\0";
    // Copying and pasting is the browser's, with Shift as in other terminals.
    if (shiftKey || code < 64 || code > 95) return undefined;
    return String.fromCharCode(code & 31);
  }
  if (ctrlKey || !Object.hasOwn(plain, key))
    return altKey && !ctrlKey && key.length === 1 ? esc + key : undefined;
  return plain[key];
}
