/**
 * Fairness: who may begin, and in which order the others do. See docs/adr for why it looks as it does.
 *
 * A request begins at once when its level has a seat and the turn has room: then it costs a few additions and no promise. Otherwise it
 * waits in its level's fair queue, until its turn comes, its time is up, or its client leaves.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
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
import type { RequestScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { BodyBudget, type BodyLimits } from "./body-budget.ts";
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
  /** Requests that may be at work at once, over all levels; Kubernetes' two in-flight limits together. */
  readonly seatsTotal?: number;
  /** What may begin in one turn of the event loop. */
  readonly turnBudgetMicros?: number;
  /** The same while more than one tenant is at work. */
  readonly contendedTurnBudgetMicros?: number;
  readonly waitMaxMs?: number;
  readonly bodies?: BodyLimits;
  readonly nextTurn?: NextTurn;
  /** One timer for all that wait; coarse is enough. */
  readonly timers: { add(callback: () => void, delayMs: number): () => void };
  readonly onWaited?: (schema: FlowSchema, seconds: number, isExecuted: boolean) => void;
  readonly onRejected?: (schema: FlowSchema, reason: RejectReason) => void;
}

/** A request as fairness sees it. What it gets is noted on it, so that a request that need not wait allocates nothing. */
export interface FlowControlledRequest {
  readonly user: UserInfo;
  readonly scope: RequestScope | undefined;
  readonly signal: AbortSignal;
  flowSchema: FlowSchema | undefined;
  /** The tenant that it counts for. */
  tenantKey: string;
  seats: number;
  waiter: QueuedRequest | undefined;
  /** The queue that it waits in besides, or holds up. */
  queue: { leave(request: FlowControlledRequest): void } | undefined;
  /** It has its answer: what comes later, such as the end of its body, begins nothing. */
  hasLeft: boolean;
  /** Memory that its body is counted for. */
  bodyBytes: number;
}

export const flowControlDefaults = { seatsTotal: 600, waitMaxMs: 15_000 } as const;

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #seatsTotal: number;
  readonly #budget: EventLoopBudget;
  readonly #pacer: StreamPacer;
  readonly #largeRequests: LargeRequestQueue;
  readonly #watchOpens: WatchOpenLimiter;
  readonly #bodies: BodyBudget;
  readonly #shares = new Shares();
  readonly #bypass = new SmallRequestBypass();
  #levels: PriorityLevel[] = [];
  /** Seats of all levels together; rounding makes it a little more than there are. */
  #nominalSum = 0;
  #classifier = new Classifier([]);
  #schemas: FlowSchema[] = [];
  #waiting = 0;
  #nextLevel = 0;
  #lastTenantKey: string | undefined;

  constructor(options: FlowControlOptions) {
    const { microsPerTurn, contendedMicrosPerTurn } = eventLoopLimits.compute;
    const { turnBudgetMicros: perTurn = microsPerTurn, nextTurn } = options;
    const contendedPerTurn =
      options.contendedTurnBudgetMicros ?? Math.min(perTurn, contendedMicrosPerTurn);
    const turns = { perTurn, contendedPerTurn, nextTurn };
    this.#options = options;
    this.#seatsTotal = options.seatsTotal ?? flowControlDefaults.seatsTotal;
    this.#budget = new EventLoopBudget({ ...turns, onTurn: () => this.#startWaiting() });
    this.#pacer = new StreamPacer(turns);
    this.#largeRequests = new LargeRequestQueue(options);
    const isContended = () => this.#budget.isContended;
    // Like turns, by the time of the world: what it spreads is work of this thread, whatever the server's clock says.
    this.#watchOpens = new WatchOpenLimiter({ clock: systemClock, isContended });
    this.#bodies = new BodyBudget(options.bodies);
    this.configure([], []);
  }

  get levels(): readonly PriorityLevel[] {
    return this.#levels;
  }

  get schemas(): readonly FlowSchema[] {
    return this.#schemas;
  }

  /** Takes the operator's objects; where he has none of a name, the bootstrap one holds. Who waits or holds seats goes on as before. */
  configure(schemas: readonly JsonObject[], levels: readonly JsonObject[]): void {
    const known = new Map(this.#levels.map((level) => [level.config.name, level]));
    this.#levels = merged(bootstrapPriorityLevels, levels).map((object) => {
      const config = readPriorityLevel(object);
      const before = known.get(config.name);
      if (before === undefined) return new PriorityLevel(config);
      before.config = config;
      return before;
    });
    this.#nominalSum = assignSeats(this.#levels, this.#seatsTotal);
    for (const level of known.values())
      if (!this.#levels.includes(level))
        for (const waiter of [...level.queue]) waiter.reject("concurrency-limit");
    const byName = new Map(this.#levels.map((level) => [level.config.name, level]));
    const counted = new Map(this.#schemas.map((schema) => [schema.config.name, schema]));
    this.#schemas = merged(bootstrapFlowSchemas, schemas).flatMap((object) => {
      const config = readFlowSchema(object);
      // A schema whose level is missing matches nothing, as in Kubernetes.
      const level = byName.get(config.level);
      if (level === undefined) return [];
      const before = counted.get(config.name);
      if (before?.level !== level) return [new FlowSchema(config, level)];
      before.config = config;
      return [before];
    });
    this.#classifier = new Classifier(this.#schemas);
  }

  /** Finds the request's schema. Whoever matches none is served as the catch-all. */
  classify(visitor: FlowControlledRequest): FlowSchema {
    const scope = visitor.scope as RequestScope;
    const found =
      this.#classifier.find(visitor.user, scope) ?? (this.#schemas.at(-1) as FlowSchema);
    visitor.flowSchema = found;
    visitor.tenantKey = this.#shares.shareOf(visitor.user, scope);
    return found;
  }

  /** The cluster exists: from now on it has a share of its own. */
  show(cluster: string): void {
    this.#shares.show(cluster);
  }

  forget(cluster: string): void {
    this.#shares.forget(cluster);
  }

  /** Memory for a body, until the request leaves. */
  reserveBody(visitor: FlowControlledRequest, bytes: number): void {
    if (visitor.hasLeft) throw tooBusy;
    this.#bodies.take(visitor.tenantKey, bytes);
    visitor.bodyBytes += bytes;
  }

  /** Undefined when the request may begin now; otherwise it begins when the promise resolves, or is refused when it rejects. */
  admit(visitor: FlowControlledRequest, estimate: WorkEstimate): Promise<void> | undefined {
    const schema = visitor.flowSchema as FlowSchema;
    const { level } = schema;
    if (level.config.isExempt && !visitor.hasLeft) {
      this.#begin(visitor, schema, 1);
      return undefined;
    }
    if (estimate.isOpening !== true) return this.#admitAnswer(visitor, schema, estimate);
    visitor.queue = this.#watchOpens;
    const waiting = this.#watchOpens.enter(flowDistinguisherOf(visitor, schema), visitor);
    if (waiting === undefined) return this.#admitAnswer(visitor, schema, estimate);
    return waiting.then(() => this.#admitAnswer(visitor, schema, estimate));
  }

  #admitAnswer(
    visitor: FlowControlledRequest,
    schema: FlowSchema,
    estimate: WorkEstimate,
  ): Promise<void> | undefined {
    return estimate.micros > eventLoopLimits.largeRequests.micros
      ? this.#admitLarge(visitor, schema, estimate)
      : this.#admitSmall(visitor, schema, estimate);
  }

  #admitSmall(
    visitor: FlowControlledRequest,
    schema: FlowSchema,
    { seats, micros }: WorkEstimate,
  ): Promise<void> | undefined {
    if (visitor.hasLeft) return Promise.reject(visitor.signal.reason ?? tooBusy);
    const { level } = schema;
    const width = level.fitting(seats);
    if (level.queue.size === 0 && this.#budget.isOpen && this.#hasSeats(level, width)) {
      this.#budget.spend(micros);
      this.#begin(visitor, schema, width);
      return undefined;
    }
    if (
      seats === 1 &&
      level.config.queuing !== undefined &&
      level.queue.lengthOfCluster(visitor.tenantKey) === 0 &&
      this.#bypass.allows(this.#budget.turn, visitor.tenantKey, micros)
    ) {
      this.#budget.spend(micros);
      this.#begin(visitor, schema, 1);
      return undefined;
    }
    return this.#wait(visitor, schema, { seats: width, micros });
  }

  async #admitLarge(
    visitor: FlowControlledRequest,
    schema: FlowSchema,
    estimate: WorkEstimate,
  ): Promise<void> {
    visitor.queue = this.#largeRequests;
    await this.#largeRequests.enter(flowDistinguisherOf(visitor, schema), visitor);
    try {
      const waiting = this.#admitSmall(visitor, schema, estimate);
      if (waiting !== undefined) await waiting;
    } catch (error) {
      this.#largeRequests.leave(visitor);
      throw error;
    }
  }

  /** The request is answered, whatever came of it. Idempotent. */
  leave(visitor: FlowControlledRequest): void {
    const { waiter, seats } = visitor;
    visitor.hasLeft = true;
    if (visitor.bodyBytes > 0) {
      this.#bodies.release(visitor.tenantKey, visitor.bodyBytes);
      visitor.bodyBytes = 0;
    }
    visitor.queue?.leave(visitor);
    if (waiter !== undefined) waiter.reject("cancelled");
    if (seats === 0) return;
    const schema = visitor.flowSchema as FlowSchema;
    visitor.seats = 0;
    schema.level.inUse -= seats;
    schema.executing--;
    if (this.#waiting > 0) this.#budget.wake();
  }

  /** Leaves, and says in the answer what the request counted as. Streams are told their pace. */
  finish(visitor: FlowControlledRequest, response: ApiResponse): void {
    this.leave(visitor);
    const schema = visitor.flowSchema as FlowSchema;
    const { config, level } = schema;
    response.headers["x-kubernetes-pf-flowschema-uid"] = config.uid;
    response.headers["x-kubernetes-pf-prioritylevel-uid"] = level.config.uid;
    if (response.body === undefined || response.body instanceof Uint8Array) return;
    response.pace = this.paceOf(visitor, response.microsPerByte);
  }

  /** How a stream that goes on after the answer keeps to its share; undefined for those who need not. */
  paceOf(visitor: FlowControlledRequest, microsPerByte?: number): Pace | undefined {
    const schema = visitor.flowSchema;
    if (schema === undefined || schema.level.config.isExempt) return undefined;
    return this.#pacer.paceOf(
      visitor.tenantKey,
      flowDistinguisherOf(visitor, schema),
      microsPerByte,
    );
  }

  #begin(visitor: FlowControlledRequest, schema: FlowSchema, seats: number): void {
    visitor.seats = seats;
    schema.level.inUse += seats;
    schema.executing++;
    schema.dispatched++;
    if (this.#largeRequests.current !== undefined) this.#largeRequests.noteBegun(visitor);
    const { tenantKey } = visitor;
    if (tenantKey === this.#lastTenantKey) return;
    if (this.#lastTenantKey !== undefined) {
      this.#budget.noteContention();
      this.#pacer.noteContention();
    }
    this.#lastTenantKey = tenantKey;
  }

  #wait(
    visitor: FlowControlledRequest,
    schema: FlowSchema,
    { seats, micros }: WorkEstimate,
  ): Promise<void> {
    const { level } = schema;
    const { clock, timers, onWaited, onRejected, waitMaxMs } = this.#options;
    return new Promise((resolve, reject) => {
      const since = clock.monotonic();
      const { signal } = visitor;
      const end = (isExecuted: boolean): void => {
        visitor.waiter = undefined;
        this.#waiting--;
        schema.waiting--;
        cancelTimer();
        signal.removeEventListener("abort", onAbort);
        onWaited?.(schema, (clock.monotonic() - since) / 1000, isExecuted);
      };
      const refuse = (reason: RejectReason): void => {
        if (!level.queue.remove(waiter)) return;
        end(false);
        onRejected?.(schema, reason);
        if (reason === "cancelled") reject(signal.reason ?? tooBusy);
        else this.#refuse(waiter, () => reject(tooBusy));
      };
      const waiter: QueuedRequest = {
        cluster: visitor.tenantKey,
        flow: flowDistinguisherOf(visitor, schema),
        cost: micros,
        seats,
        start: () => {
          end(true);
          this.#begin(visitor, schema, seats);
          resolve();
        },
        reject: refuse,
      };
      const onAbort = () => refuse("cancelled");
      const cancelTimer = timers.add(
        () => refuse("time-out"),
        waitMaxMs ?? flowControlDefaults.waitMaxMs,
      );
      signal.addEventListener("abort", onAbort, { once: true });
      visitor.waiter = waiter;
      this.#waiting++;
      schema.waiting++;
      level.queue.push(waiter);
      if (signal.aborted) refuse("cancelled");
      else this.#keepBounds(level, waiter);
      this.#budget.wake();
    });
  }

  /** A refusal is work, too, and who sends without end gets them without end: they keep to their cluster's pace. */
  #refuse({ cluster, flow }: QueuedRequest, answer: () => void): void {
    if (this.#pacer.mayWrite(cluster, flow, eventLoopCosts.refusal, answer)) answer();
  }

  /** The newcomer gives way when its own flow is too long; the longest does when all together are. */
  #keepBounds(level: PriorityLevel, waiter: QueuedRequest): void {
    const { queue, config } = level;
    const isSeated = this.#hasSeats(level, waiter.seats);
    if (config.queuing === undefined) {
      // Nobody waits for a seat here; for the turn everybody may.
      if (!isSeated || queue.size > level.nominalSeats) waiter.reject("concurrency-limit");
      return;
    }
    if (queue.lengthOf(waiter) > level.flowLengthMax) waiter.reject("queue-full");
    else if (queue.size > level.lengthMax) queue.newestOfLongest()?.reject("queue-full");
  }

  /** Begins what the turn has room for, one of each level in turn. Says whether something waits that a seat is free for. */
  #startWaiting(): boolean {
    let idle = 0;
    while (this.#waiting > 0 && idle < this.#levels.length) {
      if (!this.#budget.isOpen) return true;
      const level = this.#levels[this.#nextLevel % this.#levels.length] as PriorityLevel;
      this.#nextLevel = (this.#nextLevel + 1) % this.#levels.length;
      const waiter = level.queue.select();
      if (waiter === undefined || !this.#hasSeats(level, waiter.seats)) {
        idle++;
        continue;
      }
      idle = 0;
      level.queue.take(waiter);
      this.#budget.spend(waiter.cost);
      waiter.start();
    }
    return false;
  }

  /** Its own seats are a level's at any time; others' when they neither use nor keep them. What the exempt use is lent by nobody. */
  #hasSeats(level: PriorityLevel, seats: number): boolean {
    const wanted = level.inUse + seats;
    if (wanted <= level.nominalSeats) return true;
    if (wanted > level.seatsMax) return false;
    let taken = wanted;
    for (const other of this.#levels)
      if (other !== level) taken += Math.max(other.inUse, other.reservedSeats);
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

/** The bootstrap objects, each replaced by the operator's of that name. */
function merged(bootstrap: readonly JsonObject[], own: readonly JsonObject[]): JsonObject[] {
  const byName = new Map(bootstrap.map((object) => [nameOf(object), object]));
  for (const object of own)
    byName.set(nameOf(object), asAllowed(byName.get(nameOf(object)), object));
  // The catch-all stays last, where those come who match nothing.
  const catchAll = byName.get("catch-all") as JsonObject;
  byName.delete("catch-all");
  return [...byName.values(), catchAll];
}

/** The catch-all and exempt stay as they are, as in Kubernetes, but for the seats of the exempt level; answers name the stored ones. */
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
