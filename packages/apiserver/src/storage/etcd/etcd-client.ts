/**
 * Typed calls to etcd: authentication, deadlines, and retries.
 *
 * Reads are retried, on another member if need be, until their deadline. A write is retried only
 * when it provably did not reach etcd. All errors are `GrpcError`, or the reason of the caller's
 * signal.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Clock, neverAborted, type Random, sleep } from "@kcp-ts/machinery/base";
import {
  Channel,
  type Connection,
  callUnary,
  type Endpoint,
  GrpcError,
  grpcCode,
  MessageStream,
  type Metadata,
  OutageError,
  type TlsOptions,
} from "../../grpc/index.ts";
import { Authenticator } from "./authenticator.ts";
import { isMemberFault, isStaleToken, isTransient } from "./etcd-error.ts";
import {
  CompactionRequestSchema,
  CompactionResponseSchema,
  RangeRequestSchema,
  type RangeResponse,
  RangeResponseSchema,
  StatusRequestSchema,
  type StatusResponse,
  StatusResponseSchema,
  TxnRequestSchema,
  type TxnResponse,
  TxnResponseSchema,
} from "./generated/etcd_pb.ts";
import type { Member } from "./member.ts";

export interface EtcdClientOptions {
  readonly endpoints: readonly Endpoint[];
  readonly tls?: (() => TlsOptions) | undefined;
  readonly credentials?: { readonly username: string; readonly password: string } | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly keepaliveIntervalMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly outageGraceMs: number;
  readonly responseBytesMax: number;
  /** Called with the outcome of each call, for health. */
  readonly onOutcome: (error: GrpcError | undefined) => void;
}

interface Method<I extends DescMessage, O extends DescMessage> {
  readonly path: string;
  readonly input: I;
  readonly output: O;
  readonly repeatable: boolean;
}

export class EtcdClient {
  readonly channel: Channel;
  readonly #options: EtcdClientOptions;
  readonly #authenticator: Authenticator;
  readonly #members = new WeakMap<Connection, Member>();
  #clusterId: bigint | undefined;

  constructor(options: EtcdClientOptions) {
    this.#options = options;
    this.#authenticator = new Authenticator(options);
    this.channel = new Channel({ ...options, admit: (connection) => this.#admit(connection) });
  }

  range(
    request: MessageInitShape<typeof RangeRequestSchema>,
    signal: AbortSignal,
  ): Promise<RangeResponse> {
    return this.#call(methods.range, request, signal);
  }

  txn(
    request: MessageInitShape<typeof TxnRequestSchema>,
    signal: AbortSignal,
  ): Promise<TxnResponse> {
    return this.#call(methods.txn, request, signal);
  }

  async compact(
    request: MessageInitShape<typeof CompactionRequestSchema>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#call(methods.compact, request, signal);
  }

  status(signal: AbortSignal): Promise<StatusResponse> {
    return this.#call(methods.status, {}, signal);
  }

  /** Opens a watch stream; waits for a connection. */
  async openWatch(signal: AbortSignal): Promise<{ stream: MessageStream; connection: Connection }> {
    const connection = await this.channel.acquire({
      signal,
      timeoutMs: this.#options.requestTimeoutMs,
    });
    const metadata = await this.#metadata(connection);
    return {
      stream: new MessageStream(connection, "/etcdserverpb.Watch/Watch", { metadata }),
      connection,
    };
  }

  /** The member of a connection; undefined when it is unknown. */
  memberOf(connection: Connection): Member | undefined {
    return this.#members.get(connection);
  }

  /** Makes the next call authenticate again. */
  forgetToken(): void {
    this.#authenticator.forget(this.#authenticator.current);
  }

  close(reason: Error): void {
    this.channel.close(reason);
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageInitShape<I>,
    signal: AbortSignal,
  ): Promise<MessageShape<O>> {
    const { clock, random, requestTimeoutMs } = this.#options;
    const bytes = toBinary(method.input, create(method.input, request));
    const deadlineMs = clock.monotonic() + requestTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#attempt(method, bytes, deadlineMs, signal);
        const message = decodeMessage(method.output, answer);
        this.#options.onOutcome(undefined);
        return message;
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        this.#options.onOutcome(error);
        const delayMs = retryBaseMs * 2 ** Math.min(attempt - 1, 5) * (0.5 + random.next() / 2);
        const again = this.#mayRepeat(method.repeatable, error, attempt);
        if (!again || clock.monotonic() + delayMs >= deadlineMs) throw error;
        await sleep(clock, delayMs, signal);
      }
    }
  }

  #mayRepeat(repeatable: boolean, error: GrpcError, attempt: number): boolean {
    if (isStaleToken(error)) {
      // etcd checks the token before it acts, so a write with a stale token has not happened.
      return this.#options.credentials !== undefined && attempt <= staleTokenAttemptsMax;
    }
    if (error instanceof OutageError) return false;
    return error.delivery === "not-sent" || (repeatable && isTransient(error));
  }

  async #attempt<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    bytes: Uint8Array,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { clock, requestTimeoutMs } = this.#options;
    const left = () => Math.max(1, deadlineMs - clock.monotonic());
    const connection = await this.channel.acquire({ signal, timeoutMs: left() });
    const metadata = await this.#metadata(connection);
    // A read leaves time to retry on another member; a write has a single attempt.
    const timeoutMs = method.repeatable ? Math.min(left(), requestTimeoutMs / 3) : left();
    try {
      const answer = await callUnary(connection, method.path, bytes, {
        clock,
        timeoutMs,
        signal,
        metadata,
      });
      this.channel.reportSuccess(connection);
      return answer;
    } catch (error) {
      if (error instanceof GrpcError) {
        if (isStaleToken(error)) this.#authenticator.forget(metadata["token"]);
        if (isMemberFault(error)) this.channel.reportFailure(connection, error);
        else if (error.delivery === "answered") this.channel.reportSuccess(connection);
      }
      throw error;
    }
  }

  /**
   * `hasleader` makes a member without a leader fail at once instead of letting the call time out.
   */
  async #metadata(connection: Connection): Promise<Metadata> {
    const token = await this.#authenticator.token(connection);
    return token === undefined ? { hasleader: "true" } : { hasleader: "true", token };
  }

  /** Checks a new connection: same cluster, a leader, accepted credentials. */
  async #admit(connection: Connection): Promise<void> {
    const status = await this.#handshake(connection);
    if (status === undefined) return;
    const clusterId = status.header?.clusterId ?? 0n;
    this.#clusterId ??= clusterId;
    if (clusterId !== this.#clusterId) {
      const id = clusterId.toString(16);
      throw refused(
        `it belongs to another etcd cluster (${id}); after a restore, restart this server`,
      );
    }
    if (status.leader === 0n) throw refused("etcdserver: no leader");
    this.#members.set(connection, { clusterId, version: status.version });
  }

  /** The member's status; undefined when the user may not read it. */
  async #handshake(connection: Connection): Promise<StatusResponse | undefined> {
    const { clock, connectTimeoutMs: timeoutMs } = this.#options;
    const request = toBinary(StatusRequestSchema, create(StatusRequestSchema));
    for (let attempt = 1; ; attempt++) {
      const token = await this.#authenticator.token(connection);
      const metadata: Metadata = token === undefined ? {} : { token };
      try {
        const options = { clock, timeoutMs, signal: neverAborted, metadata };
        const answer = await callUnary(connection, methods.status.path, request, options);
        return decodeMessage(StatusResponseSchema, answer);
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        if (error.code === grpcCode.permissionDenied) return undefined;
        if (!isStaleToken(error) || attempt > staleTokenAttemptsMax) throw error;
        this.#authenticator.forget(token);
      }
    }
  }
}

export function decodeMessage<O extends DescMessage>(
  schema: O,
  bytes: Uint8Array,
): MessageShape<O> {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch (error) {
    const message = `the answer is not a ${schema.typeName}`;
    throw new GrpcError(grpcCode.internal, message, "unknown", error);
  }
}

const methods = {
  range: {
    path: "/etcdserverpb.KV/Range",
    input: RangeRequestSchema,
    output: RangeResponseSchema,
    repeatable: true,
  },
  txn: {
    path: "/etcdserverpb.KV/Txn",
    input: TxnRequestSchema,
    output: TxnResponseSchema,
    repeatable: false,
  },
  // A repeated compaction is an error with a message of its own, which the store treats as success.
  compact: {
    path: "/etcdserverpb.KV/Compact",
    input: CompactionRequestSchema,
    output: CompactionResponseSchema,
    repeatable: true,
  },
  status: {
    path: "/etcdserverpb.Maintenance/Status",
    input: StatusRequestSchema,
    output: StatusResponseSchema,
    repeatable: true,
  },
} as const;

const retryBaseMs = 25;
const staleTokenAttemptsMax = 2;

function refused(message: string): GrpcError {
  return new GrpcError(grpcCode.unavailable, message, "not-sent");
}
