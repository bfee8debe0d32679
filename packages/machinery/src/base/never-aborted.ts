/**
 * The signal of work that is never cancelled.
 *
 * One for the process, so it accepts no listeners: they would accumulate, thousands of them, and
 * Node would warn of a leak on stderr.
 */
export const neverAborted: AbortSignal = Object.assign(new AbortController().signal, {
  addEventListener() {},
  removeEventListener() {},
});
