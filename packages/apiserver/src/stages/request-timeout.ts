/** How long a request may take: as its client asks, within limits. */
import { statusError } from "@kcp-ts/machinery/status";
import type { RequestScope } from "../request/request-scope.ts";
import type { Exchange } from "./exchange.ts";

const timeoutDefaultMs = 60_000;
const writeTimeoutMaxMs = 34_000;

/** Watches run as long as they like; everything else has a minute, writes a little more than half of it. */
export function setDeadline(exchange: Exchange): undefined {
  const scope = exchange.scope as RequestScope;
  if (scope.verb === "watch") return undefined;
  const asked = scope.query.get("timeout");
  let timeoutMs = asked === null ? timeoutDefaultMs : parseTimeout(asked);
  const isRead = scope.verb === "get" || scope.verb === "list" || scope.verb === "head";
  if (!isRead) timeoutMs = Math.min(timeoutMs, writeTimeoutMaxMs);
  exchange.timeoutMs = timeoutMs;
  return undefined;
}

const durationUnitMs = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A Go duration; zero and more than a minute mean the default. */
function parseTimeout(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  const isWhole = parts.map((part) => part[0]).join("") === text && parts.length > 0;
  if (!isWhole && text !== "0") {
    throw statusError.badRequest(
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  }
  const ms = parts.reduce(
    (sum, [, value, unit]) => sum + Number(value) * (durationUnitMs.get(unit as string) ?? 0),
    0,
  );
  return ms <= 0 || ms > timeoutDefaultMs ? timeoutDefaultMs : ms;
}
