/** Lets the event loop turn: for work that is cut into pieces so that others get theirs done in between. */
export function otherWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
