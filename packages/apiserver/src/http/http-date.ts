/** The time as HTTP writes it, made once a second. */
import type { Clock } from "@kcp-ts/machinery/base";

export function httpDate(clock: Clock): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1000).toUTCString();
    }
    return text;
  };
}
