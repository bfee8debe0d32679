/**
 * The signal of work that nobody gives up.
 *
 * One for the whole process, so it takes no listeners: they would wait for ever, thousands of them at once, and Node would warn of a leak on stderr.
 */
export const neverAborted: AbortSignal = Object.assign(new AbortController().signal, {
  addEventListener() {},
  removeEventListener() {},
});
