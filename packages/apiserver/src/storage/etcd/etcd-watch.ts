/**
 * One watch, kept alive across streams: when a connection breaks, the reader still gets each
 * revision once and in order.
 *
 * Each stream starts after the last complete revision. Before its first event is delivered, a read
 * at that last revision proves that etcd still has the history (etcd itself lets a watch begin at a
 * compacted revision whose deletes are gone) and that it is not in the future (etcd would wait
 * silently after a restore from an older backup).
 */
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Clock, type Random, sleep } from "@kcp-ts/machinery/base";
import { GrpcError, grpcCode, type MessageStream } from "../../grpc/index.ts";
import { hasPrefix } from "../change-feed.ts";
import { isStorageError, StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, toRevision } from "../revision.ts";
import type { Change, WatchOptions } from "../storage.ts";
import { ChangeBuffer } from "./change-buffer.ts";
import { decodeMessage, type EtcdClient } from "./etcd-client.ts";
import { isMemberFault, toStorageError } from "./etcd-error.ts";
import { EventReader, type EventReaderContext } from "./event-reader.ts";
import {
  WatchRequestSchema,
  type WatchResponse,
  WatchResponseSchema,
} from "./generated/etcd_pb.ts";
import { supportsProgressRequests } from "./member.ts";
import { ProgressRequester, type ProgressRequesterContext } from "./progress-requester.ts";

export interface EtcdWatchContext extends EventReaderContext, ProgressRequesterContext {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Proves that etcd has the history after `revision`; resolves to the newest revision, rejects
   * with a storage error.
   */
  readonly checkHistory: (revision: Revision, signal: AbortSignal) => Promise<Revision>;
}

export class EtcdWatch {
  readonly #context: EtcdWatchContext;
  readonly #prefix: StorageKey;
  readonly #buffer: ChangeBuffer;
  readonly #events: EventReader;
  readonly #progressRequester: ProgressRequester;
  readonly #stop = new AbortController();
  /** Everything up to this revision was delivered. */
  #seen: Revision;
  /** Changes up to this revision had happened when the stream began. */
  #historyEnd: Revision;

  constructor(
    context: EtcdWatchContext,
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ) {
    this.#context = context;
    this.#prefix = prefix;
    this.#buffer = new ChangeBuffer(prefix, options);
    this.#events = new EventReader(context);
    this.#progressRequester = new ProgressRequester(context);
    this.#seen = afterRevision;
    this.#historyEnd = afterRevision;
  }

  async *read(): AsyncGenerator<Change> {
    void this.#run();
    try {
      yield* this.#buffer.read();
    } finally {
      this.#stop.abort(new GrpcError(grpcCode.cancelled, "the watch is over", "unknown"));
      this.#buffer.endNow(undefined);
    }
  }

  /** The reader gets `error` at once. */
  fail(error: StorageError): void {
    this.#buffer.endNow(error);
  }

  /**
   * Requests a progress mark for the reader that is no older than the newest revision at this call;
   * false if none comes soon.
   */
  requestProgress(): boolean {
    return this.#progressRequester.request();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, random } = this.#context;
    for (let failures = 0; !signal.aborted; failures++) {
      const seenBefore = this.#seen;
      try {
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        const fatal = fatalError(error);
        if (isStorageError(fatal, "overrun")) return this.#buffer.endNow(fatal);
        if (fatal !== undefined) return this.#buffer.endAfterPending(fatal);
        if (this.#seen > seenBefore) failures = 0;
        const delayMs = Math.min(resumeMaxMs, resumeBaseMs * 2 ** Math.min(failures, 8));
        await sleep(clock, delayMs * (0.5 + random.next() / 2), signal).catch(() => undefined);
      }
    }
  }

  /** Reads one stream, until it fails. */
  async #follow(): Promise<void> {
    const { client, keySpace, checkHistory } = this.#context;
    const { signal } = this.#stop;
    const { stream, connection } = await client.openWatch(signal);
    const cancel = () => stream.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      signal.throwIfAborted();
      const trusted = supportsProgressRequests(client.memberOf(connection)?.version ?? "");
      // Markers are at the root of the key space, so the watch must cover everything to see them.
      const range = trusted ? keySpace.range(this.#prefix) : keySpace.everything;
      const startRevision = BigInt(this.#seen + 1);
      const options = { progressNotify: true, prevKv: true, fragment: true };
      stream.send(
        encode({ case: "createRequest", value: { ...range, startRevision, ...options } }),
      );
      const created = await this.#created(stream);
      const newest = await checkHistory(this.#seen, signal);
      this.#historyEnd = toRevision(Math.max(newest, Number(created.header?.revision ?? 0n)));
      this.#events.restart();
      this.#progressRequester.attach({
        trusted,
        caughtUp: newest <= this.#seen,
        sendProgressRequest: () => stream.send(encode({ case: "progressRequest", value: {} })),
        seen: () => this.#seen,
        notifyProgress: () => this.#takeProgress(this.#seen),
      });
      for (;;) await this.#take(await this.#next(stream));
    } catch (error) {
      if (error instanceof GrpcError && isMemberFault(error)) {
        client.channel.reportFailure(connection, error);
      }
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
      this.#progressRequester.detach();
      cancel();
    }
  }

  async #created(stream: MessageStream): Promise<WatchResponse> {
    const timer = this.#context.clock.schedule(createdWithinMs, () => stream.cancel());
    try {
      return await this.#next(stream);
    } finally {
      timer.cancel();
    }
  }

  async #next(stream: MessageStream): Promise<WatchResponse> {
    const message = await stream.next();
    if (message === undefined) {
      throw new GrpcError(grpcCode.unavailable, "etcd ended the watch stream", "answered");
    }
    const response = decodeMessage(WatchResponseSchema, message);
    if (response.canceled || response.compactRevision > 0n) throw this.#canceled(response);
    return response;
  }

  async #take(response: WatchResponse): Promise<void> {
    if (response.created) return;
    if (response.events.length === 0 && !response.fragment && !this.#events.holding) {
      this.#takeProgress(toRevision(response.header?.revision ?? 0n));
      return this.#progressRequester.onProgress();
    }
    for (const change of await this.#events.read(response, this.#stop.signal)) {
      if (change.revision <= this.#seen) continue;
      if (change.kind === "progress") {
        this.#takeProgress(change.revision);
        this.#progressRequester.onMarker(change.revision);
      } else if (!hasPrefix(this.#prefix, change)) continue;
      else if (change.revision <= this.#historyEnd) this.#buffer.pushHistory(change);
      else this.#buffer.pushLive(change);
    }
    if (this.#events.revision > this.#seen) this.#seen = this.#events.revision;
    if (this.#seen <= this.#historyEnd) await this.#buffer.drained();
  }

  #takeProgress(revision: Revision): void {
    // A lagging member may report a revision before this watch's position.
    if (revision < this.#seen) return;
    this.#seen = revision;
    this.#buffer.pushProgress({ kind: "progress", revision });
  }

  #canceled({ compactRevision, cancelReason }: WatchResponse): Error {
    if (compactRevision > 0n) {
      return new StorageError(
        "compacted",
        `the changes after revision ${this.#seen} are gone, list again`,
        { oldest: toRevision(compactRevision) },
      );
    }
    if (cancelReason.includes("auth")) this.#context.client.forgetToken();
    const denied = cancelReason.includes("permission denied");
    return new GrpcError(
      denied ? grpcCode.permissionDenied : grpcCode.unavailable,
      `etcd ended the watch: ${cancelReason || "no reason given"}`,
      "answered",
    );
  }
}

const createdWithinMs = 10_000;
const resumeBaseMs = 20;
const resumeMaxMs = 2000;

/** An error that ends the watch for good; undefined for errors that the next stream may cure. */
function fatalError(error: unknown): unknown {
  if (!(error instanceof GrpcError)) {
    return isStorageError(error, "unavailable") ? undefined : error;
  }
  return error.code === grpcCode.permissionDenied ? toStorageError(error, "watch") : undefined;
}

function encode(
  requestUnion: NonNullable<MessageInitShape<typeof WatchRequestSchema>["requestUnion"]>,
): Uint8Array {
  return toBinary(WatchRequestSchema, create(WatchRequestSchema, { requestUnion }));
}
