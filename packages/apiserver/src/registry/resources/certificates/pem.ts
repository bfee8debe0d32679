/** Finds PEM blocks. Text between them is a comment, as in Go. */
export interface PemBlock {
  readonly type: string;
  readonly body: string;
  /** The offset from which the next block is searched. */
  readonly end: number;
}

/** Searches forward only, so that the time is linear in the length. */
export function nextPemBlock(text: string, from: number): PemBlock | undefined {
  const begin = text.indexOf("-----BEGIN ", from);
  if (begin < 0) return undefined;
  const typeStart = begin + "-----BEGIN ".length;
  const typeEnd = text.indexOf("-----", typeStart);
  if (typeEnd < 0) return undefined;
  const type = text.slice(typeStart, typeEnd);
  const ending = `-----END ${type}-----`;
  const bodyEnd = text.indexOf(ending, typeEnd);
  if (bodyEnd < 0) return undefined;
  return {
    type,
    body: text.slice(typeEnd + "-----".length, bodyEnd),
    end: bodyEnd + ending.length,
  };
}
