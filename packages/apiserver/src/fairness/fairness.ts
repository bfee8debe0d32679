/**
 * Fairness: who may begin, and in which order the others do. See docs/adr for why it looks as it does.
 *
 * A request begins at once when its level has a seat and the turn has room: then it costs a few additions and no promise. Otherwise it
 * waits in its level's fair queue, until its turn comes, its time is up, or its client leaves.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ApiResponse } from "../request/api-request.ts";
import type { RequestScope } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { BodyBudget, type BodyLimits } from "./body-budget.ts";
import { bootstrapLevels, bootstrapSchemas } from "./bootstrap.ts";
import { Classifier } from "./classifier.ts";
import { readLevel, readSchema } from "./flow-config.ts";
import { FlowSchema } from "./flow-schema.ts";
import { HeavyLane } from "./heavy-lane.ts";
import { OpeningLane } from "./opening-lane.ts";
import { Overtaking } from "./overtaking.ts";
import { Pacer } from "./pacer.ts";
import { assignSeats, PriorityLevel, type RejectReason, type Waiter } from "./priority-level.ts";
import { Shares } from "./shares.ts";
import { tooBusy } from "./too-busy.ts";
import { sharedTurnBudgetDefaultMicros, Turn, turnBudgetDefaultMicros } from "./turn.ts";
import type { Estimate } from "./work-estimate.ts";

export interface FairnessOptions {
  readonly clock: Clock;
  /** Requests that may be at work at once, over all levels; Kubernetes' two in-flight limits together. */
  readonly seatsTotal?: number;
  /** What may begin in one turn of the event loop. */
  readonly turnBudgetMicros?: number;
  /** The same while more than one logical cluster is at work: the others are to be heard soon. */
  readonly sharedTurnBudgetMicros?: number;
  readonly waitMaxMs?: number;
  readonly bodies?: BodyLimits;
  readonly nextTurn?: (callback: () => void) => void;
  /** One timer for all that wait; coarse is enough. */
  readonly timers: { add(callback: () => void, delayMs: number): () => void };
  readonly onWaited?: (schema: FlowSchema, seconds: number, isExecuted: boolean) => void;
  readonly onRejected?: (schema: FlowSchema, reason: RejectReason) => void;
}

/** A request as fairness sees it. What it gets is noted on it, so that a request that need not wait allocates nothing. */
export interface Visitor {
  readonly user: UserInfo;
  readonly scope: RequestScope | undefined;
  readonly signal: AbortSignal;
  flowSchema: FlowSchema | undefined;
  /** Whose share it takes. */
  share: string;
  seats: number;
  waiter: Waiter | undefined;
  /** It has its answer: what comes later, such as the end of its body, begins nothing. */
  hasLeft: boolean;
  /** Memory that its body is counted for. */
  bodyBytes: number;
}

/** What takes longer goes one by one: bodies of a quarter of a megabyte, lists of thousands. */
const heavyMicros = 5000;
/** What an answer takes that says no. */
const refusalMicros = 100;

export const fairnessDefaults = { seatsTotal: 600, waitMaxMs: 15_000 } as const;

export class Fairness {
  readonly #options: FairnessOptions;
  readonly #seatsTotal: number;
  readonly #turn: Turn;
  readonly #pacer: Pacer;
  readonly #heavy: HeavyLane;
  readonly #openings: OpeningLane;
  readonly #bodies: BodyBudget;
  readonly #shares = new Shares();
  readonly #overtaking = new Overtaking();
  #levels: PriorityLevel[] = [];
  /** Seats of all levels together; rounding makes it a little more than there are. */
  #nominalSum = 0;
  #classifier = new Classifier([]);
  #schemas: FlowSchema[] = [];
  #waiting = 0;
  #nextLevel = 0;
  #lastShare: string | undefined;

  constructor(options: FairnessOptions) {
    const { turnBudgetMicros: budgetMicros = turnBudgetDefaultMicros, nextTurn } = options;
    const sharedBudgetMicros =
      options.sharedTurnBudgetMicros ?? Math.min(budgetMicros, sharedTurnBudgetDefaultMicros);
    const turns = {
      ...{ budgetMicros, sharedBudgetMicros },
      ...(nextTurn === undefined ? {} : { nextTurn }),
    };
    this.#options = options;
    this.#seatsTotal = options.seatsTotal ?? fairnessDefaults.seatsTotal;
    this.#turn = new Turn({ ...turns, onTurn: () => this.#startWaiting() });
    this.#pacer = new Pacer(turns);
    this.#heavy = new HeavyLane(options);
    const hasCompany = () => this.#turn.hasCompany;
    // Like turns, by the time of the world: what it spreads is work of this thread, whatever the server's clock says.
    this.#openings = new OpeningLane({ clock: systemClock, hasCompany });
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
    this.#levels = merged(bootstrapLevels, levels).map((object) => {
      const config = readLevel(object);
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
    this.#schemas = merged(bootstrapSchemas, schemas).flatMap((object) => {
      const config = readSchema(object);
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
  classify(visitor: Visitor): FlowSchema {
    const scope = visitor.scope as RequestScope;
    const found =
      this.#classifier.find(visitor.user, scope) ?? (this.#schemas.at(-1) as FlowSchema);
    visitor.flowSchema = found;
    visitor.share = this.#shares.shareOf(visitor.user, scope);
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
  reserveBody(visitor: Visitor, bytes: number): void {
    if (visitor.hasLeft) throw tooBusy;
    this.#bodies.take(visitor.share, bytes);
    visitor.bodyBytes += bytes;
  }

  /** Undefined when the request may begin now; otherwise it begins when the promise resolves, or is refused when it rejects. */
  admit(visitor: Visitor, estimate: Estimate): Promise<void> | undefined {
    const schema = visitor.flowSchema as FlowSchema;
    const { level } = schema;
    if (level.config.isExempt && !visitor.hasLeft) {
      this.#begin(visitor, schema, 1);
      return undefined;
    }
    if (estimate.isOpening !== true) return this.#admitAnswer(visitor, schema, estimate);
    const waiting = this.#openings.enter(visitor.share, flowOf(visitor, schema), visitor);
    if (waiting === undefined) return this.#admitAnswer(visitor, schema, estimate);
    return waiting.then(() => this.#admitAnswer(visitor, schema, estimate));
  }

  #admitAnswer(
    visitor: Visitor,
    schema: FlowSchema,
    estimate: Estimate,
  ): Promise<void> | undefined {
    return estimate.micros > heavyMicros
      ? this.#admitHeavy(visitor, schema, estimate)
      : this.#admitLight(visitor, schema, estimate);
  }

  #admitLight(
    visitor: Visitor,
    schema: FlowSchema,
    { seats, micros }: Estimate,
  ): Promise<void> | undefined {
    if (visitor.hasLeft) return Promise.reject(visitor.signal.reason ?? tooBusy);
    const { level } = schema;
    const width = level.fitting(seats);
    if (level.queue.size === 0 && this.#turn.isOpen && this.#hasSeats(level, width)) {
      this.#turn.spend(micros);
      this.#begin(visitor, schema, width);
      return undefined;
    }
    if (
      seats === 1 &&
      level.config.queuing !== undefined &&
      level.queue.lengthOfCluster(visitor.share) === 0 &&
      this.#overtaking.allows(this.#turn.number, visitor.share, micros)
    ) {
      this.#turn.spend(micros);
      this.#begin(visitor, schema, 1);
      return undefined;
    }
    return this.#wait(visitor, schema, { seats: width, micros });
  }

  async #admitHeavy(visitor: Visitor, schema: FlowSchema, estimate: Estimate): Promise<void> {
    await this.#heavy.enter(visitor.share, flowOf(visitor, schema), visitor);
    try {
      const waiting = this.#admitLight(visitor, schema, estimate);
      if (waiting !== undefined) await waiting;
    } catch (error) {
      this.#heavy.leave(visitor);
      throw error;
    }
  }

  /** The request is answered, whatever came of it. Idempotent. */
  leave(visitor: Visitor): void {
    const { waiter, seats } = visitor;
    visitor.hasLeft = true;
    if (visitor.bodyBytes > 0) {
      this.#bodies.release(visitor.share, visitor.bodyBytes);
      visitor.bodyBytes = 0;
    }
    this.#heavy.leave(visitor);
    this.#openings.leave(visitor);
    if (waiter !== undefined) waiter.reject("cancelled");
    if (seats === 0) return;
    const schema = visitor.flowSchema as FlowSchema;
    visitor.seats = 0;
    schema.level.inUse -= seats;
    schema.executing--;
    if (this.#waiting > 0) this.#turn.wake();
  }

  /** Leaves, and says in the answer what the request counted as. Streams are told their pace. */
  finish(visitor: Visitor, response: ApiResponse): void {
    this.leave(visitor);
    const schema = visitor.flowSchema as FlowSchema;
    const { config, level } = schema;
    response.headers["x-kubernetes-pf-flowschema-uid"] = config.uid;
    response.headers["x-kubernetes-pf-prioritylevel-uid"] = level.config.uid;
    if (response.body === undefined || response.body instanceof Uint8Array) return;
    response.pace = this.paceOf(visitor, response.microsPerByte);
    if (response.pace === undefined) return;
    const flow = flowOf(visitor, schema);
    response.paceCalling = this.#pacer.callingPaceOf(visitor.share, flow, response.microsPerByte);
  }

  /** How a stream that goes on after the answer keeps to its share; undefined for those who need not. */
  paceOf(
    visitor: Visitor,
    microsPerByte?: number,
  ): ((bytes: number) => Promise<void> | undefined) | undefined {
    const schema = visitor.flowSchema;
    if (schema === undefined || schema.level.config.isExempt) return undefined;
    return this.#pacer.paceOf(visitor.share, flowOf(visitor, schema), microsPerByte);
  }

  #begin(visitor: Visitor, schema: FlowSchema, seats: number): void {
    visitor.seats = seats;
    schema.level.inUse += seats;
    schema.executing++;
    schema.dispatched++;
    this.#heavy.noteBegun(visitor);
    const { share } = visitor;
    if (share === this.#lastShare) return;
    if (this.#lastShare !== undefined) {
      this.#turn.noteCompany();
      this.#pacer.noteCompany();
    }
    this.#lastShare = share;
  }

  #wait(visitor: Visitor, schema: FlowSchema, { seats, micros }: Estimate): Promise<void> {
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
      const waiter: Waiter = {
        cluster: visitor.share,
        flow: flowOf(visitor, schema),
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
        waitMaxMs ?? fairnessDefaults.waitMaxMs,
      );
      signal.addEventListener("abort", onAbort, { once: true });
      visitor.waiter = waiter;
      this.#waiting++;
      schema.waiting++;
      level.queue.push(waiter);
      if (signal.aborted) refuse("cancelled");
      else this.#keepBounds(level, waiter);
      this.#turn.wake();
    });
  }

  /** A refusal is work, too, and who sends without end gets them without end: they keep to their cluster's pace. */
  #refuse({ cluster, flow }: Waiter, answer: () => void): void {
    const pending = this.#pacer.pace(cluster, flow, refusalMicros);
    if (pending === undefined) answer();
    // The pacer resolves and never rejects.
    else void pending.then(answer);
  }

  /** The newcomer gives way when its own flow is too long; the longest does when all together are. */
  #keepBounds(level: PriorityLevel, waiter: Waiter): void {
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
      if (!this.#turn.isOpen) return true;
      const level = this.#levels[this.#nextLevel % this.#levels.length] as PriorityLevel;
      this.#nextLevel = (this.#nextLevel + 1) % this.#levels.length;
      const waiter = level.queue.select();
      if (waiter === undefined || !this.#hasSeats(level, waiter.seats)) {
        idle++;
        continue;
      }
      idle = 0;
      level.queue.take(waiter);
      this.#turn.spend(waiter.cost);
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

function flowOf({ scope, user }: Visitor, { config }: FlowSchema): string {
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
  const isFixed = name === "catch-all" || (name === "exempt" && !readLevel(object).isExempt);
  return isFixed && bootstrap !== undefined
    ? { ...bootstrap, metadata: object["metadata"] as JsonObject }
    : object;
}

function nameOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["name"]);
}
