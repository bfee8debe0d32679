/** A gRPC call with one message each way, a deadline and cancellation. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Connection, Metadata } from "./connection.ts";
import { GrpcError, grpcCode } from "./grpc-error.ts";
import type { GrpcStream } from "./grpc-stream.ts";

export interface UnaryOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly metadata: Metadata;
}

/** Rejects with a `GrpcError`, or with the signal's reason when that aborts. */
export function callUnary(
  connection: Connection,
  path: string,
  request: Uint8Array,
  options: UnaryOptions,
): Promise<Uint8Array> {
  const { clock, signal, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    let answer: Uint8Array | undefined;
    let stream: GrpcStream | undefined;
    const settle = () => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    };
    const timer = clock.schedule(timeoutMs, () =>
      stream?.abort(
        new GrpcError(grpcCode.deadlineExceeded, `no answer within ${timeoutMs} ms`, "unknown"),
      ),
    );
    const onAbort = () => {
      settle();
      reject(signal.reason);
      stream?.abort(new GrpcError(grpcCode.cancelled, "the caller gave up", "unknown"));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      stream = connection.start(path, withTimeout(options), {
        onActivity() {},
        onMessage(message) {
          if (answer === undefined) answer = message;
          else stream?.abort(new GrpcError(grpcCode.internal, "a second answer came", "unknown"));
        },
        onEnd(error) {
          settle();
          if (error !== undefined) reject(error);
          else if (answer !== undefined) resolve(answer);
          else reject(new GrpcError(grpcCode.internal, "status OK without an answer", "unknown"));
        },
      });
      stream.sendLast(request);
    } catch (error) {
      settle();
      reject(error);
    }
  });
}

function withTimeout({ metadata, timeoutMs }: UnaryOptions): Metadata {
  // Slightly later than the local deadline, so that the local one determines the outcome. The
  // specification allows eight digits.
  const peerTimeoutMs = Math.min(99_999_999, Math.ceil(timeoutMs) + 500);
  return { ...metadata, "grpc-timeout": `${peerTimeoutMs}m` };
}
