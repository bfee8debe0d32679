/**
 * How large a regular expression becomes once its counted repetitions are written out, from its
 * text alone.
 *
 * Compiling takes time and memory in proportion: seven characters, `a{1000}`, are a thousand
 * instructions. Counting beforehand keeps a short text from taking all the time there is. The count
 * is rough but never much too low.
 */
export function expandedSize(source: string): number {
  /** Sizes of the open groups so far, innermost last. */
  const groups: number[] = [0];
  /** The size of the last atom, which a repetition applies to. */
  let atom = 0;
  const add = (size: number): void => {
    atom = size;
    groups[groups.length - 1] = (groups.at(-1) ?? 0) + size;
  };
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at);
    if (character === "\\") {
      add(1);
      at++;
    } else if (character === "[") {
      at = classEnd(source, at);
      add(1);
    } else if (character === "(") groups.push(0);
    else if (character === ")" && groups.length > 1) add(groups.pop() ?? 0);
    else if (character === "{") {
      const repetition = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(source.slice(at, at + 12));
      if (repetition === null) add(1);
      else {
        const count = Math.max(Number(repetition[1]), Number(repetition[2] ?? 0), 1);
        add(atom * (count - 1));
        atom *= count;
        at += repetition[0].length - 1;
      }
    } else add(1);
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

/** Where the character class that starts at `at` ends. */
function classEnd(source: string, at: number): number {
  let end = source.charAt(at + 1) === "^" ? at + 2 : at + 1;
  if (source.charAt(end) === "]") end++;
  while (end < source.length && source.charAt(end) !== "]") {
    if (source.charAt(end) === "\\") end++;
    else if (source.startsWith("[:", end)) end = Math.max(end, source.indexOf(":]", end) + 1);
    end++;
  }
  return end;
}
