/**
 * FlowControl decides which requests start at once, and in which order the others start. docs/adr
 * contains the reasons for this design.
 *
 * A request starts at once when its level has a seat and the turn has budget: this costs a few
 * additions and no promise. Otherwise the request waits in the fair queue of its level until it is
 * dispatched, its time is up, or its client disconnects.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { BytesInFlight, type BytesInFlightLimits, bytesInFlight } from "@kcp-ts/machinery/bounds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  EventLoopBudget,
  eventLoopCosts,
  eventLoopLimits,
  LargeRequestQueue,
  type NextTurn,
  SmallRequestBypass,
  StreamPacer,
  tooBusy,
  WatchOpenLimiter,
} from "../event-loop/index.ts";
import type { ApiResponse, Pace } from "../request/api-request.ts";
import { type RequestScope, unresolvedCluster } from "../request/request-scope.ts";
import { mayEnterAll, type UserInfo } from "../request/user.ts";
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from "./bootstrap.ts";
import { Classifier, Shares } from "./classifier.ts";
import { readFlowSchema, readPriorityLevel } from "./flow-config.ts";
import { FlowSchema } from "./flow-schema.ts";
import {
  assignSeats,
  PriorityLevel,
  type QueuedRequest,
  type RejectReason,
} from "./priority-level.ts";
import type { WorkEstimate } from "./work-estimate.ts";

export interface FlowControlOptions {
  readonly clock: Clock;
  /**
   * The requests that may run concurrently, over all levels; the sum of Kubernetes' two in-flight
   * limits.
   */
  readonly seatsTotal?: number;
  /** The work that may start in one turn of the event loop. */
  readonly eventLoopBudgetMicros?: number;
  /** The work that may start in one turn while more than one tenant is at work. */
  readonly contendedTurnBudgetMicros?: number;
  readonly queueWaitMaxMs?: number;
  readonly bodies?: BytesInFlightLimits;
  readonly scheduleImmediate?: NextTurn;
  /** One timer for all waiting requests; coarse timers are sufficient. */
  readonly timers: { add(callback: () => void, delayMs: number): () => void };
  readonly onQueued?: (schema: FlowSchema, seconds: number, isExecuted: boolean) => void;
  readonly onRejected?: (schema: FlowSchema, reason: RejectReason) => void;
}

/**
 * A request as flow control sees it. Its state is stored on the request itself, so that a request
 * that does not wait allocates nothing.
 */
export interface FlowControlledRequest {
  readonly user: UserInfo;
  readonly scope: RequestScope | undefined;
  readonly signal: AbortSignal;
  flowSchema: FlowSchema | undefined;
  /** The tenant that the request counts for. */
  tenantKey: string;
  seats: number;
  queuedRequest: QueuedRequest | undefined;
  /** The additional queue that the request waits in, or blocks. */
  queue: { leave(request: FlowControlledRequest): void } | undefined;
  /** The request has its response: later events, such as the end of its body, start nothing. */
  isFinished: boolean;
  /** The bytes of memory that are reserved for its body. */
  bodyBytes: number;
}

export const flowControlDefaults = { seatsTotal: 600, waitMaxMs: 15_000 } as const;

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #seatsTotal: number;
  readonly #budget: EventLoopBudget;
  readonly #streamThrottle: StreamPacer;
  readonly #largeRequests: LargeRequestQueue;
  readonly #watchOpens: WatchOpenLimiter;
  /** The request bodies in memory, from their arrival until the response to their request. */
  readonly #bodies: BytesInFlight;
  readonly #tenantKeys = new Shares();
  readonly #bypass = new SmallRequestBypass();
  #levels: PriorityLevel[] = [];
  /**
   * The seats of all levels together; rounding makes the sum slightly larger than the number of
   * seats.
   */
  #nominalSum = 0;
  #classifier = new Classifier([]);
  #schemas: FlowSchema[] = [];
  #waiting = 0;
  #nextLevel = 0;
  #lastTenantKey: string | undefined;

  constructor(options: FlowControlOptions) {
    const { microsPerTurn, contendedMicrosPerTurn } = eventLoopLimits.compute;
    const { eventLoopBudgetMicros: perTurn = microsPerTurn, scheduleImmediate: nextTurn } = options;
    const contendedPerTurn =
      options.contendedTurnBudgetMicros ?? Math.min(perTurn, contendedMicrosPerTurn);
    const turns = { perTurn, contendedPerTurn, nextTurn };
    this.#options = options;
    this.#seatsTotal = options.seatsTotal ?? flowControlDefaults.seatsTotal;
    this.#budget = new EventLoopBudget({ ...turns, onTurn: () => this.#dispatchQueued() });
    this.#streamThrottle = new StreamPacer(turns);
    this.#largeRequests = new LargeRequestQueue(options);
    const isContended = () => this.#budget.isContended;
    // The system clock, as for turns: the limiter spreads work of this thread, whatever the
    // server's clock says.
    this.#watchOpens = new WatchOpenLimiter({ clock: systemClock, isContended });
    this.#bodies = new BytesInFlight(options.bodies ?? bytesInFlight.requestBodies);
    this.configure([], []);
  }

  get priorityLevels(): readonly PriorityLevel[] {
    return this.#levels;
  }

  get flowSchemas(): readonly FlowSchema[] {
    return this.#schemas;
  }

  /**
   * Applies the operator's objects; the bootstrap object applies where the operator has none of its
   * name. Requests that wait or hold seats are not affected.
   */
  configure(flowSchemas: readonly JsonObject[], priorityLevels: readonly JsonObject[]): void {
    const known = new Map(this.#levels.map((level) => [level.config.name, level]));
    this.#levels = merged(bootstrapPriorityLevels, priorityLevels).map((object) => {
      const config = readPriorityLevel(object);
      const before = known.get(config.name);
      if (before === undefined) return new PriorityLevel(config);
      before.config = config;
      return before;
    });
    this.#nominalSum = assignSeats(this.#levels, this.#seatsTotal);
    for (const level of known.values())
      if (!this.#levels.includes(level))
        for (const queuedRequest of [...level.queue]) queuedRequest.reject("concurrency-limit");
    const byName = new Map(this.#levels.map((level) => [level.config.name, level]));
    const counted = new Map(this.#schemas.map((schema) => [schema.config.name, schema]));
    this.#schemas = merged(bootstrapFlowSchemas, flowSchemas).flatMap((object) => {
      const config = readFlowSchema(object);
      // A schema whose level does not exist matches nothing, as in Kubernetes.
      const level = byName.get(config.level);
      if (level === undefined) return [];
      const before = counted.get(config.name);
      if (before?.level !== level) return [new FlowSchema(config, level)];
      before.config = config;
      return [before];
    });
    this.#classifier = new Classifier(this.#schemas);
  }

  /** Finds the schema of the request. A request that matches none is served as catch-all. */
  classify(request: FlowControlledRequest): FlowSchema {
    const scope = request.scope as RequestScope;
    const found =
      this.#classifier.find(request.user, scope) ?? (this.#schemas.at(-1) as FlowSchema);
    request.flowSchema = found;
    request.tenantKey = this.#tenantKeys.shareOf(request.user, scope);
    return found;
  }

  /** Notes that the cluster exists: from now on it is a tenant of its own. */
  markClusterExisting(cluster: string): void {
    this.#tenantKeys.show(cluster);
  }

  /**
   * A response without an error proves that the logical cluster exists, except that users with
   * access to all clusters get empty lists for clusters that do not exist.
   */
  #noteCluster({ scope, user }: FlowControlledRequest): void {
    if (scope?.kind !== "resource" || scope.cluster === unresolvedCluster) return;
    if (scope.name !== "" || scope.verb === "create" || !mayEnterAll(user))
      this.markClusterExisting(scope.cluster);
  }

  forgetCluster(cluster: string): void {
    this.#tenantKeys.forget(cluster);
  }

  /** Reserves memory for a body until the request is released. */
  reserveBody(request: FlowControlledRequest, bytes: number): void {
    if (request.isFinished || !this.#bodies.tryTake(request.tenantKey, bytes)) throw tooBusy;
    request.bodyBytes += bytes;
  }

  /** Starts a request of an exempt level, which is never estimated and never waits. */
  admitExempt(request: FlowControlledRequest): boolean {
    const schema = request.flowSchema as FlowSchema;
    if (!schema.level.config.isExempt || request.isFinished) return false;
    this.#startExecuting(request, schema, 1);
    return true;
  }

  /**
   * Undefined when the request may start now; otherwise the request starts when the promise
   * resolves, or is rejected when the promise rejects.
   */
  admit(request: FlowControlledRequest, estimate: WorkEstimate): Promise<void> | undefined {
    const schema = request.flowSchema as FlowSchema;
    if (estimate.opensWatch !== true) return this.#admitBySize(request, schema, estimate);
    request.queue = this.#watchOpens;
    const waiting = this.#watchOpens.enter(flowDistinguisherOf(request, schema), request);
    if (waiting === undefined) return this.#admitBySize(request, schema, estimate);
    return waiting.then(() => this.#admitBySize(request, schema, estimate));
  }

  #admitBySize(
    request: FlowControlledRequest,
    schema: FlowSchema,
    estimate: WorkEstimate,
  ): Promise<void> | undefined {
    return estimate.micros > eventLoopLimits.largeRequests.micros
      ? this.#admitLarge(request, schema, estimate)
      : this.#admitSmall(request, schema, estimate);
  }

  #admitSmall(
    request: FlowControlledRequest,
    schema: FlowSchema,
    { seats, micros }: WorkEstimate,
  ): Promise<void> | undefined {
    if (request.isFinished) return Promise.reject(request.signal.reason ?? tooBusy);
    const { level } = schema;
    const width = level.clampSeats(seats);
    if (level.queue.size === 0 && this.#budget.isOpen && this.#hasSeats(level, width)) {
      this.#budget.spend(micros);
      this.#startExecuting(request, schema, width);
      return undefined;
    }
    if (
      seats === 1 &&
      level.config.queuing !== undefined &&
      level.queue.lengthOfCluster(request.tenantKey) === 0 &&
      this.#bypass.allows(this.#budget.turn, request.tenantKey, micros)
    ) {
      this.#budget.spend(micros);
      this.#startExecuting(request, schema, 1);
      return undefined;
    }
    return this.#enqueue(request, schema, { seats: width, micros });
  }

  async #admitLarge(
    request: FlowControlledRequest,
    schema: FlowSchema,
    estimate: WorkEstimate,
  ): Promise<void> {
    request.queue = this.#largeRequests;
    await this.#largeRequests.enter(flowDistinguisherOf(request, schema), request);
    try {
      const waiting = this.#admitSmall(request, schema, estimate);
      if (waiting !== undefined) await waiting;
    } catch (error) {
      this.#largeRequests.leave(request);
      throw error;
    }
  }

  /** Releases everything that the request holds, after any kind of response. Idempotent. */
  release(request: FlowControlledRequest): void {
    const { queuedRequest, seats } = request;
    request.isFinished = true;
    if (request.bodyBytes > 0) {
      this.#bodies.release(request.tenantKey, request.bodyBytes);
      request.bodyBytes = 0;
    }
    request.queue?.leave(request);
    if (queuedRequest !== undefined) queuedRequest.reject("cancelled");
    if (seats === 0) return;
    const schema = request.flowSchema as FlowSchema;
    request.seats = 0;
    schema.level.seatsInUse -= seats;
    schema.executing--;
    if (this.#waiting > 0) this.#budget.wake();
  }

  /**
   * Releases the request, adds the headers with its schema and level to the response, and sets the
   * pace of a stream.
   */
  finish(request: FlowControlledRequest, response: ApiResponse): void {
    this.release(request);
    const schema = request.flowSchema as FlowSchema;
    const { config, level } = schema;
    response.headers["x-kubernetes-pf-flowschema-uid"] = config.uid;
    response.headers["x-kubernetes-pf-prioritylevel-uid"] = level.config.uid;
    const isNew = request.tenantKey !== request.scope?.cluster;
    if (isNew && response.status < 300) this.#noteCluster(request);
    if (response.body === undefined || response.body instanceof Uint8Array) return;
    response.throttle = this.throttleFor(request, response.microsPerByte);
  }

  /**
   * The pace of a stream that continues after the response headers, so that it stays within its
   * tenant's share; undefined for exempt requests.
   */
  throttleFor(request: FlowControlledRequest, microsPerByte?: number): Pace | undefined {
    const schema = request.flowSchema;
    if (schema === undefined || schema.level.config.isExempt) return undefined;
    return this.#streamThrottle.paceOf(
      request.tenantKey,
      flowDistinguisherOf(request, schema),
      microsPerByte,
    );
  }

  #startExecuting(request: FlowControlledRequest, schema: FlowSchema, seats: number): void {
    request.seats = seats;
    schema.level.seatsInUse += seats;
    schema.executing++;
    schema.dispatched++;
    if (this.#largeRequests.current !== undefined) this.#largeRequests.noteBegun(request);
    const { tenantKey } = request;
    if (tenantKey === this.#lastTenantKey) return;
    if (this.#lastTenantKey !== undefined) {
      this.#budget.noteContention();
      this.#streamThrottle.noteContention();
    }
    this.#lastTenantKey = tenantKey;
  }

  #enqueue(
    request: FlowControlledRequest,
    schema: FlowSchema,
    { seats, micros }: WorkEstimate,
  ): Promise<void> {
    const { level } = schema;
    const { clock, timers, onQueued, onRejected, queueWaitMaxMs } = this.#options;
    return new Promise((resolve, reject) => {
      const since = clock.monotonic();
      const { signal } = request;
      const end = (isExecuted: boolean): void => {
        request.queuedRequest = undefined;
        this.#waiting--;
        schema.waiting--;
        cancelTimer();
        signal.removeEventListener("abort", onAbort);
        onQueued?.(schema, (clock.monotonic() - since) / 1000, isExecuted);
      };
      const refuse = (reason: RejectReason): void => {
        if (!level.queue.remove(queuedRequest)) return;
        end(false);
        onRejected?.(schema, reason);
        if (reason === "cancelled") reject(signal.reason ?? tooBusy);
        else this.#reject(queuedRequest, () => reject(tooBusy));
      };
      const queuedRequest: QueuedRequest = {
        cluster: request.tenantKey,
        flow: flowDistinguisherOf(request, schema),
        cost: micros,
        seats,
        start: () => {
          end(true);
          this.#startExecuting(request, schema, seats);
          resolve();
        },
        reject: refuse,
      };
      const onAbort = () => refuse("cancelled");
      const cancelTimer = timers.add(
        () => refuse("time-out"),
        queueWaitMaxMs ?? flowControlDefaults.waitMaxMs,
      );
      signal.addEventListener("abort", onAbort, { once: true });
      request.queuedRequest = queuedRequest;
      this.#waiting++;
      schema.waiting++;
      level.queue.push(queuedRequest);
      if (signal.aborted) refuse("cancelled");
      else this.#enforceQueueLimits(level, queuedRequest);
      this.#budget.wake();
    });
  }

  /**
   * Rejects a request at the pace of its cluster: rejections are work, too, and a client that sends
   * without end gets them without end.
   */
  #reject({ cluster, flow }: QueuedRequest, answer: () => void): void {
    if (this.#streamThrottle.mayWrite(cluster, flow, eventLoopCosts.refusal, answer)) answer();
  }

  /**
   * Evicts the new request when its own flow is too long, and a request of the longest queue when
   * the level is full.
   */
  #enforceQueueLimits(level: PriorityLevel, queuedRequest: QueuedRequest): void {
    const { queue, config } = level;
    const isSeated = this.#hasSeats(level, queuedRequest.seats);
    if (config.queuing === undefined) {
      // This level has no queue for seats; requests only wait for a turn.
      if (!isSeated || queue.size > level.nominalSeats) queuedRequest.reject("concurrency-limit");
      return;
    }
    if (queue.lengthOf(queuedRequest) > level.flowLengthMax) queuedRequest.reject("queue-full");
    else if (queue.size > level.lengthMax) queue.newestOfLongest()?.reject("queue-full");
  }

  /**
   * Starts the requests that the turn has budget for, one of each level in round robin. Returns
   * whether a request waits for which a seat is free.
   */
  #dispatchQueued(): boolean {
    let idle = 0;
    while (this.#waiting > 0 && idle < this.#levels.length) {
      if (!this.#budget.isOpen) return true;
      const level = this.#levels[this.#nextLevel % this.#levels.length] as PriorityLevel;
      this.#nextLevel = (this.#nextLevel + 1) % this.#levels.length;
      const queuedRequest = level.queue.select();
      if (queuedRequest === undefined || !this.#hasSeats(level, queuedRequest.seats)) {
        idle++;
        continue;
      }
      idle = 0;
      level.queue.take(queuedRequest);
      this.#budget.spend(queuedRequest.cost);
      queuedRequest.start();
    }
    return false;
  }

  /**
   * A level may use its own seats at any time, and seats of other levels that these neither use nor
   * reserve. Seats that exempt requests use are never lent.
   */
  #hasSeats(level: PriorityLevel, seats: number): boolean {
    const wanted = level.seatsInUse + seats;
    if (wanted <= level.nominalSeats) return true;
    if (wanted > level.seatsMax) return false;
    let taken = wanted;
    for (const other of this.#levels)
      if (other !== level) taken += Math.max(other.seatsInUse, other.reservedSeats);
    return taken <= this.#nominalSum;
  }
}

function flowDistinguisherOf(
  { scope, user }: FlowControlledRequest,
  { config }: FlowSchema,
): string {
  if (config.distinguisher === "ByUser") return `${config.name}\0${user.username}`;
  const namespace = scope?.kind === "resource" ? scope.namespace : "";
  return config.distinguisher === "ByNamespace" ? `${config.name}\0${namespace}` : config.name;
}

/** The bootstrap objects, each replaced by the operator's object of that name. */
function merged(bootstrap: readonly JsonObject[], own: readonly JsonObject[]): JsonObject[] {
  const byName = new Map(bootstrap.map((object) => [nameOf(object), object]));
  for (const object of own)
    byName.set(nameOf(object), asAllowed(byName.get(nameOf(object)), object));
  // The catch-all stays last, since it serves requests that match no other schema.
  const catchAll = byName.get("catch-all") as JsonObject;
  byName.delete("catch-all");
  return [...byName.values(), catchAll];
}

/**
 * Keeps catch-all and exempt unchanged, as Kubernetes does, except the seats of the exempt level;
 * response headers name the uids of the stored objects.
 */
function asAllowed(bootstrap: JsonObject | undefined, object: JsonObject): JsonObject {
  const name = nameOf(object);
  const isFixed =
    name === "catch-all" || (name === "exempt" && !readPriorityLevel(object).isExempt);
  return isFixed && bootstrap !== undefined
    ? { ...bootstrap, metadata: object["metadata"] as JsonObject }
    : object;
}

function nameOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["name"]);
}
