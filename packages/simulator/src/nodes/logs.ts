/**
 * The log of a simulated container: computed from its Pod on request, so that nothing is stored.
 */
import { durationMs, type Pod } from "../api/index.ts";
import { annotationPrefix } from "./behaviour.ts";

export interface LogQuery {
  readonly container: string;
  /** The log of the previous run. */
  readonly isPrevious: boolean;
  readonly hasTimestamps: boolean;
  readonly tailLines?: number | undefined;
  readonly sinceMs?: number | undefined;
  /** Only lines that are newer than this; for following clients. */
  readonly afterMs?: number | undefined;
}

/** The log of a long-running Pod is limited to its last lines. */
const linesMax = 10_000;

export function logsOf(pod: Pod, query: LogQuery, nowMs: number): string[] {
  const { containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const statuses = [...containerStatuses, ...ephemeralContainerStatuses];
  const status = statuses.find(({ name }) => name === query.container);
  const state = query.isPrevious ? status?.lastState : status?.state;
  const startedAt = state?.running?.startedAt ?? state?.terminated?.startedAt;
  if (startedAt === undefined) return [];
  const startMs = Date.parse(startedAt);
  const endMs =
    state?.terminated?.finishedAt === undefined ? nowMs : Date.parse(state.terminated.finishedAt);
  const said = (name: string) => pod.metadata.annotations?.[`${annotationPrefix}${name}`];
  const containers = [...pod.spec.containers, ...(pod.spec.ephemeralContainers ?? [])];
  const image = containers.find(({ name }) => name === query.container)?.image ?? "";
  const text = said("log") ?? `simulated container ${query.container} of image ${image} started`;
  const lines = text.split("\n").map((line) => ({ atMs: startMs, line }));
  const everyMs = durationMs(said("log-every"));
  if (everyMs !== undefined && everyMs > 0) {
    const count = Math.floor((endMs - startMs) / everyMs);
    for (let tick = Math.max(1, count - linesMax); tick <= count; tick++)
      lines.push({ atMs: startMs + tick * everyMs, line: `line ${tick}` });
  }
  const sinceMs = query.sinceMs ?? Number.NEGATIVE_INFINITY;
  const afterMs = query.afterMs ?? Number.NEGATIVE_INFINITY;
  const wanted = lines.filter(({ atMs }) => atMs >= sinceMs && atMs > afterMs);
  const tail =
    query.tailLines === undefined
      ? wanted
      : wanted.slice(wanted.length - Math.min(wanted.length, query.tailLines));
  return tail.map(({ atMs, line }) =>
    query.hasTimestamps ? `${new Date(atMs).toISOString().replace("Z", "000000Z")} ${line}` : line,
  );
}

const lineBytes = 100;
const chunkLines = 640;

/** A log of a given size, generated while it is read. */
export function bulkLog(pod: Pod): Iterable<Uint8Array> | undefined {
  const wanted = pod.metadata.annotations?.[`${annotationPrefix}log-bytes`] ?? "";
  return /^\d{1,12}$/.test(wanted) ? bulk(Number(wanted)) : undefined;
}

function* bulk(bytes: number): Generator<Uint8Array> {
  const line = `${"0123456789".repeat(lineBytes / 10).slice(0, lineBytes - 1)}\n`;
  const chunk = Buffer.from(line.repeat(chunkLines));
  for (let left = bytes; left > 0; left -= chunk.length)
    yield left < chunk.length ? chunk.subarray(0, left) : chunk;
}
