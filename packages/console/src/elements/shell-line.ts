/**
 * Lines for a terminal, made of names that anybody may have chosen. Pure.
 *
 * A value is one word of the line, or one for each of its members, whatever it contains: a name
 * with a semicolon or an escape sequence is no command when somebody pastes the line.
 */
const plain = /^[\w@%+=:,./-]+$/;
/** Control characters, and those that change the direction or the place of others. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export function shellLine(
  texts: readonly string[],
  ...values: readonly (string | readonly string[])[]
): string {
  let line = texts[0] as string;
  for (const [at, value] of values.entries()) {
    const words = typeof value === "string" ? [value] : value;
    // Without words there is no need for the space in front of them.
    if (words.length === 0) line = line.replace(/ $/, "");
    line += words.map(shellWord).join(" ") + (texts[at + 1] as string);
  }
  return line;
}

function shellWord(word: string): string {
  if (plain.test(word)) return word;
  if (!unseen.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = word.replace(/[\\']/g, "\\$&").replace(new RegExp(unseen, "gu"), escapeText);
  return `$'${escaped}'`;
}

function escapeText(character: string): string {
  return `\\U${(character.codePointAt(0) as number).toString(16).padStart(8, "0")}`;
}
