/**
 * GET /replication?afterRevision=N streams every change of the store to a standby, as it is stored,
 * with a renewal of the lease each second. POST /replication tells this server that the standby has
 * taken over.
 *
 * The stream contains every tenant's Secrets, and the call stops the server: only members of
 * system:masters may, whatever an authorizer decides about the path.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { quote, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import { isSystemMaster, type UserInfo, wellKnownGroup } from "../request/index.ts";
import { type Change, type Revision, type SnapshotSource, toRevision } from "../storage/index.ts";
import { encodeChange, encodeRenewal } from "./change-frames.ts";

export const replicationPath = "/replication";
export const replicationType = "application/vnd.kcp-ts.replication";
/** Names this process: revisions of another one may mean other changes. */
export const storeHeader = "kcp-store";
export const renewalMs = 1000;
/** A standby further behind reads the past from the disk, or copies the store again. */
const bufferedChangesMax = 100_000;

export interface ReplicationDependencies {
  /** Undefined when the store has no snapshots, or is replicated by itself. */
  readonly snapshots: SnapshotSource | undefined;
  /** Called when a standby has taken over. Undefined: this server cannot be told. */
  readonly onSuperseded?: ((by: string) => Promise<void>) | undefined;
  /** Aborts when the server stops: streams end. */
  readonly draining: AbortSignal;
  readonly clock: Clock;
}

const processId = randomUUID();

export async function serveReplication(
  request: ApiRequest,
  { user, verb, query }: { user: UserInfo; verb: string; query: URLSearchParams },
  { snapshots, onSuperseded, draining, clock }: ReplicationDependencies,
): Promise<ApiResponse> {
  if (!isSystemMaster(user)) {
    throw statusError.forbiddenPath(
      `User ${quote(user.username)} cannot ${verb} path "${replicationPath}": only members of ${wellKnownGroup.masters} can`,
    );
  }
  if (snapshots?.storedChanges === undefined) throw notPossible;
  if (verb === "post" && onSuperseded !== undefined) {
    await onSuperseded(query.get("by") ?? "a standby");
    return { status: 200, headers: {}, body: new Uint8Array() };
  }
  if (verb !== "get") throw statusError.pathNotFound();
  const after = Number(query.get("afterRevision") ?? "");
  if (!Number.isSafeInteger(after) || after < 0)
    throw statusError.badRequest("afterRevision is not a revision");
  const gone = new AbortController();
  request.onClose(() => gone.abort());
  const signal = AbortSignal.any([gone.signal, draining]);
  const changes = snapshots.storedChanges(toRevision(after), { signal, bufferedChangesMax });
  const iterator = changes[Symbol.asyncIterator]();
  // A feed begins with a mark: a history that is gone is an error before the stream begins.
  const first = await iterator.next();
  const feed = new ReplicationFeed(iterator, toRevision(after), { clock, gone });
  return {
    status: 200,
    headers: { "content-type": replicationType, [storeHeader]: processId },
    body: feed.frames(first),
    isWatch: true,
  };
}

const notPossible = new StatusError({
  code: 501,
  reason: "NotImplemented",
  message: "only the embedded store has a standby: a store in memory is lost, and etcd has members",
});

/** Changes and renewals for one reader, which is waited for. */
class ReplicationFeed {
  readonly #changes: AsyncIterator<Change>;
  readonly #clock: Clock;
  readonly #gone: AbortController;
  #revision: Revision;
  #frames: Uint8Array[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: unknown;
  #wake = () => {};
  #resume = () => {};

  constructor(
    changes: AsyncIterator<Change>,
    revision: Revision,
    { clock, gone }: { readonly clock: Clock; readonly gone: AbortController },
  ) {
    this.#changes = changes;
    this.#revision = revision;
    this.#clock = clock;
    this.#gone = gone;
  }

  async *frames(first: IteratorResult<Change>): AsyncGenerator<Uint8Array> {
    const ticking = this.#tick();
    void this.#pump(first);
    try {
      this.#push(encodeRenewal(this.#revision));
      for (;;) {
        const frames = this.#frames;
        this.#frames = [];
        this.#bytes = 0;
        this.#resume();
        for (const frame of frames) yield frame;
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#isOver) return;
        if (this.#frames.length > 0) continue;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      ticking.cancel();
      // A feed that waits for its next change ends by its signal alone.
      this.#gone.abort();
      this.#resume();
    }
  }

  async #pump(first: IteratorResult<Change>): Promise<void> {
    try {
      for (let next = first; next.done !== true; next = await this.#changes.next()) {
        this.#revision = next.value.revision;
        if (next.value.kind !== "progress") this.#push(encodeChange(next.value));
        if (this.#bytes < waitingBytesMax) continue;
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#isOver = true;
    this.#wake();
  }

  /** A reader that is behind is alive by what it reads. */
  #tick(): { cancel(): void } {
    const tick = () => {
      if (this.#frames.length === 0) this.#push(encodeRenewal(this.#revision));
      timer = this.#clock.schedule(renewalMs, tick);
    };
    let timer = this.#clock.schedule(renewalMs, tick);
    return { cancel: () => timer.cancel() };
  }

  #push(frame: Uint8Array): void {
    this.#frames.push(frame);
    this.#bytes += frame.length;
    this.#wake();
  }
}

/** What waits for a slow reader; the feed of the store bounds the rest. */
const waitingBytesMax = 1 << 20;
