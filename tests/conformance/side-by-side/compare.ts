/** Where two answers differ, place by place. */
import { type CorpusResponse, valueAt } from "./corpus-request.ts";

export interface Difference {
  /** `status`, `headers.warning`, `body.metadata.labels.a`… */
  readonly at: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

export function compareResponses(expected: CorpusResponse, actual: CorpusResponse): Difference[] {
  // Of an answer of another status nothing more need be said.
  if (expected.status !== actual.status) {
    return [{ at: "status", expected: outcome(expected), actual: outcome(actual) }];
  }
  const found: Difference[] = [];
  compare({ ...expected }, { ...actual }, "", found);
  return found;
}

function outcome({ status, body }: CorpusResponse): string {
  const message = valueAt(body, "message");
  return `${status}${typeof message === "string" ? ` ${message}` : ""}`;
}

function compare(expected: unknown, actual: unknown, at: string, found: Difference[]): void {
  if (isContainer(expected) && isContainer(actual)) {
    if (Array.isArray(expected) === Array.isArray(actual)) {
      for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
        compare(expected[key], actual[key], at === "" ? key : `${at}.${key}`, found);
      }
      return;
    }
  }
  if (!Object.is(expected, actual)) found.push({ at, expected, actual });
}

function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function describeDifference({ at, expected, actual }: Difference): string {
  return `  ${at}\n    expected ${JSON.stringify(expected)}\n    actual   ${JSON.stringify(actual)}`;
}
