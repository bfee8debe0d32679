/**
 * Finds the oldest revision that etcd still has. Errors of reads do not contain it; a watch from
 * the first revision does.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import type { Clock } from "@kcp-ts/machinery/base";
import { GrpcError } from "../../grpc/index.ts";
import { type Revision, toRevision } from "../revision.ts";
import { decodeMessage, type EtcdClient } from "./etcd-client.ts";
import { WatchRequestSchema, WatchResponseSchema } from "./generated/etcd_pb.ts";
import type { KeySpace } from "./key-space.ts";

/**
 * Undefined when nothing was compacted, or when etcd does not respond in time: it only improves an
 * error message.
 */
export async function findOldestRevision(
  client: EtcdClient,
  keySpace: KeySpace,
  clock: Clock,
): Promise<Revision | undefined> {
  const timeout = new AbortController();
  const timer = clock.schedule(answerWithinMs, () =>
    timeout.abort(new Error("etcd did not tell its oldest revision")),
  );
  try {
    const { stream } = await client.openWatch(timeout.signal);
    timeout.signal.addEventListener("abort", () => stream.cancel(), { once: true });
    try {
      const createRequest = { key: keySpace.root, startRevision: 1n };
      const requestUnion = { case: "createRequest", value: createRequest } as const;
      stream.send(toBinary(WatchRequestSchema, create(WatchRequestSchema, { requestUnion })));
      for (;;) {
        const message = await stream.next();
        if (message === undefined) return undefined;
        const { compactRevision, canceled } = decodeMessage(WatchResponseSchema, message);
        if (compactRevision > 0n) return toRevision(compactRevision);
        if (canceled) return undefined;
      }
    } finally {
      stream.cancel();
    }
  } catch (error) {
    if (error instanceof GrpcError || timeout.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
  }
}

const answerWithinMs = 2000;
