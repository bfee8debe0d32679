/** Network formats. Implemented as small scanners, without backtracking patterns. */

const hostnameLengthMax = 255;
const labelLengthMax = 63;

/**
 * Labels of letters, digits and symbols (emoji, too), dashes inside, the last of several being
 * letters. A single label may have a dash only after its first character, which is how upstream's
 * pattern reads.
 */
export function isHostname(text: string): boolean {
  if (text === "" || utf8Length(text) > hostnameLengthMax) return false;
  const labels = text.split(".");
  if (labels.some((label) => utf8Length(label) > labelLengthMax)) return false;
  const last = [...(labels.pop() as string)];
  if (labels.length === 0) return isSingleLabel(last);
  return last.length >= 2 && last.every(isLetter) && labels.every((label) => isLabel([...label]));
}

function isSingleLabel(runes: readonly string[]): boolean {
  const rest = runes.slice(runes[1] === "-" ? 2 : 1);
  return (
    isLabelRune(runes[0] ?? "") && rest.length <= labelLengthMax - 1 && rest.every(isLabelRune)
  );
}

function isLabel(runes: readonly string[]): boolean {
  return (
    isLabelRune(runes[0] ?? "") &&
    isLabelRune(runes.at(-1) ?? "") &&
    runes.every((rune) => rune === "-" || isLabelRune(rune))
  );
}

function isLetter(rune: string): boolean {
  return /^\p{L}$/u.test(rune);
}

function isLabelRune(rune: string): boolean {
  return /^[0-9\p{S}\p{L}]$/u.test(rune);
}

/** Leading zeros are allowed, as in the sloppy parser that Kubernetes keeps for old objects. */
export function isIpv4(text: string): boolean {
  if (text.length > 45) return false;
  return isDottedQuad(text) || (text.includes(".") && isIpv6(text));
}

function isDottedQuad(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
}

function isStrictDottedQuad(text: string): boolean {
  return isDottedQuad(text) && text.split(".").every((part) => /^(?:0|[1-9]\d*)$/.test(part));
}

export function isIpv6(text: string): boolean {
  if (text.length > 45 || !text.includes(":")) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const [head, tail] = halves as [string, string | undefined];
  const headGroups = countGroups(head, tail === undefined);
  const tailGroups = tail === undefined ? 0 : countGroups(tail, true);
  if (headGroups < 0 || tailGroups < 0) return false;
  return tail === undefined ? headGroups === 8 : headGroups + tailGroups <= 7;
}

/**
 * Groups of 16 bits, or -1 when malformed; the last group may be a dotted quad, which counts two.
 */
function countGroups(text: string, mayEndInQuad: boolean): number {
  if (text === "") return 0;
  const groups = text.split(":");
  let count = 0;
  for (const [i, group] of groups.entries()) {
    if (mayEndInQuad && i === groups.length - 1 && group.includes(".")) {
      if (!isStrictDottedQuad(group)) return -1;
      count += 2;
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return -1;
      count++;
    }
  }
  return count;
}

export function isCidr(text: string): boolean {
  const slash = text.indexOf("/");
  if (slash < 0) return false;
  const address = text.slice(0, slash);
  const bits = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(bits)) return false;
  if (isDottedQuad(address)) return Number(bits) <= 32;
  return isIpv6(address) && Number(bits) <= 128;
}

export function isMac(text: string): boolean {
  return (
    (/^[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2})+|(?:-[0-9a-fA-F]{2})+)$/.test(text.slice(0, 60)) &&
      [6, 8, 20].includes((text.length + 1) / 3)) ||
    (/^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+$/.test(text.slice(0, 50)) &&
      [6, 8, 20].includes(((text.length + 1) / 5) * 2))
  );
}

const schemePattern = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** Go's `url.ParseRequestURI`: an absolute URI or an absolute path. */
export function isRequestUri(text: string): boolean {
  if (text === "") return false;
  if (text === "*") return true;
  if (/[\u0000-\u001f\u007f]/.test(text)) return false;
  const scheme = schemePattern.exec(text)?.[0];
  if (scheme === undefined) {
    if (!text.startsWith("/")) return false;
    return hasValidEscapes(text.split("?", 1)[0] as string);
  }
  const rest = text.slice(scheme.length).split("?", 1)[0] as string;
  if (!rest.startsWith("/")) return true; // An opaque URI such as mailto:a@b.
  if (!rest.startsWith("//")) return hasValidEscapes(rest);
  const slash = rest.indexOf("/", 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  return isAuthority(authority) && hasValidEscapes(slash < 0 ? "" : rest.slice(slash));
}

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf("@");
  if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at))) return false;
  const host = authority.slice(at + 1);
  if (host.startsWith("[")) return /^\[[^\]]*\](?::\d*)?$/.test(host);
  const colon = host.lastIndexOf(":");
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon))) return false;
  const name = colon < 0 ? host : host.slice(0, colon);
  return !/[\s<>"{}|\\^`#]/.test(name) && hasValidEscapes(name) && !name.includes(":");
}

function hasValidEscapes(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

const emailLengthMax = 2_000;
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-\\u0080-\\u{10ffff}]+";
const dotAtom = `${atom}(?:\\.${atom})*`;
const addressPattern = new RegExp(
  `^(?:${dotAtom}|"(?:[^"\\\\\\r\\n]|\\\\.)*")@(?:${dotAtom}|\\[[^\\]\\s]+\\])$`,
  "u",
);

/** Go's `mail.ParseAddress`: an address, or `Name <address>`. */
export function isEmail(text: string): boolean {
  if (text.length > emailLengthMax) return false;
  const trimmed = text.trim();
  if (addressPattern.test(trimmed)) return true;
  const open = trimmed.lastIndexOf("<");
  if (open < 0 || !trimmed.endsWith(">")) return false;
  const name = trimmed.slice(0, open).trim();
  const nameIsValid =
    /^"(?:[^"\\]|\\.)*"$/.test(name) ||
    name.split(/\s+/).every((word) => word === "" || new RegExp(`^${dotAtom}$`, "u").test(word));
  return nameIsValid && addressPattern.test(trimmed.slice(open + 1, -1));
}

export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code >= 0xd800 && code < 0xdc00 && i + 1 < text.length) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}
