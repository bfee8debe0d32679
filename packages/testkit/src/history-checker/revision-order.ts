/**
 * Revisions are in the order of time for all keys together: a write that began when another had
 * been acknowledged has the later one.
 */
import { type History, keyText, type Operation, type Violation } from "./history.ts";

interface Acknowledged {
  readonly operation: Operation;
  readonly revision: number;
}

export function revisionOrder({ operations }: History): Violation[] {
  const writes = operations.flatMap((operation): Acknowledged[] =>
    operation.outcome.kind === "object" && operation.request.verb !== "get"
      ? [{ operation, revision: operation.outcome.state.revision }]
      : [],
  );
  const byReturn = [...writes].sort((a, b) => a.operation.returnedAt - b.operation.returnedAt);
  const byCall = [...writes].sort((a, b) => a.operation.invokedAt - b.operation.invokedAt);
  const found: Violation[] = [];
  let newest: Acknowledged | undefined;
  let next = 0;
  for (const write of byCall) {
    for (; ; next++) {
      const returned = byReturn[next];
      if (returned === undefined || returned.operation.returnedAt >= write.operation.invokedAt)
        break;
      if (newest === undefined || returned.revision > newest.revision) newest = returned;
    }
    if (newest !== undefined && newest.revision >= write.revision) {
      found.push({
        guarantee: "revision order",
        message: `revision ${write.revision} was given after ${newest.revision}`,
        excerpt: [line(newest), line(write)],
      });
    }
  }
  return found;
}

function line({
  operation: { client, key, request, invokedAt, returnedAt },
  revision,
}: Acknowledged) {
  const times = `${invokedAt.toFixed(1)}..${returnedAt.toFixed(1)} ms`;
  return `${times} ${client} ${request.verb} ${keyText(key)} rv=${revision}`;
}
