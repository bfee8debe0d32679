/**
 * What a refusal repeats of a request is bounded: a name, a key or a value of megabytes would be
 * copied several times into the texts of its errors, in one turn of the event loop.
 */

/**
 * UTF-16 units of a text of the request in an error; the rest is truncated. Kubernetes shows all of
 * it.
 */
export const shownTextMax = 4_096;

/** Errors that a Status reports. */
export const errorsMax = 500;

/** UTF-16 units of the reported errors together; the first error is reported whatever its size. */
export const errorsTextMax = 262_144;

/** UTF-16 units of the message of a Status: its errors, and as much around them. */
export const messageMax = 2 * errorsTextMax;

export function shownText(text: string, unitsMax = shownTextMax): string {
  return text.length <= unitsMax ? text : `${text.slice(0, unitsMax)}…`;
}
