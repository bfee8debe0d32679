/**
 * `exploreObjects`: takes one object of a custom resource through generated states, and checks that
 * its controller converges in each, that it undoes a change that is undone, and that a refused
 * change changes nothing. What fails is repeated as two states of a new object.
 */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, KubernetesObject, Resource, WriteInput } from "@kcp-ts/sdk";
import type { KindDefinition } from "@kcp-ts/sdk/schema";
import { eventuallyStable } from "./eventually-stable.ts";
import type { ControllerRun } from "./explore-faults.ts";
import { type GeneratedObject, generateObjects } from "./generate-objects.ts";
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "./test-control-plane.ts";

export interface ExploreObjectsOptions<Object extends KubernetesObject>
  extends Omit<TestControlPlaneOptions, "clock"> {
  /** Of `defineKind`. */
  readonly kind: Resource<Object> & { readonly definition: KindDefinition };
  /** Starts the controller. It must end when the signal aborts. */
  readonly controller: ControllerRun;
  /** What the controller makes: objects of these resources that the object controls. */
  readonly owned: readonly Resource[];
  /** Throws until the controller has done what the object wants. */
  readonly check?: (object: Object, client: Client) => unknown;
  /** How many states; 20 if omitted. */
  readonly count?: number;
  /** 1 if omitted. */
  readonly seed?: number;
  /** How long the controller may take for a state; five seconds if omitted. */
  readonly timeoutMs?: number;
}

export interface ObjectsReport {
  readonly applied: number;
  /** States with a flaw, and those that rules in CEL refuse. */
  readonly refused: number;
}

/** The message has the states that fail, and the seed. */
export class ObjectsError extends Error {
  override readonly name = "ObjectsError";
  readonly states: readonly JsonObject[];

  constructor(what: string, states: readonly JsonObject[], seed: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const texts = states.map((spec, i) => `${i + 1}. ${JSON.stringify(spec)}`);
    super(`${what} (seed ${seed}):\n${texts.join("\n")}\n${why}`, { cause });
    this.states = states;
  }
}

/** A change is noticed within this time, or else `check` says what to wait for. */
const quietMs = 150;
const countDefault = 20;
const timeoutMsDefault = 5000;

export async function exploreObjects<Object extends KubernetesObject>(
  options: ExploreObjectsOptions<Object>,
): Promise<ObjectsReport> {
  const { kind, controller, count = countDefault, seed = 1 } = options;
  const k = await startTestControlPlane({ ...options, crds: [kind.definition] });
  const stop = new AbortController();
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const running = controller(k.client, stop.signal).catch(fail);
  try {
    const states = generateObjects(kind.definition, { count, seed });
    return await Promise.race([failed, explore(new Subjects(k, options), states, seed)]);
  } finally {
    stop.abort();
    await running;
    await k.close();
  }
}

async function explore<Object extends KubernetesObject>(
  subjects: Subjects<Object>,
  states: Iterable<GeneratedObject>,
  seed: number,
): Promise<ObjectsReport> {
  const subject = subjects.next();
  let before: { readonly spec: JsonObject; readonly result: JsonValue } | undefined;
  let [applied, refused] = [0, 0];
  for (const { spec, flaw } of states) {
    const isTaken = await subject.put(spec);
    if (isTaken && flaw !== undefined)
      throw new ObjectsError(`a state with a flaw was accepted: ${flaw}`, [spec], seed, undefined);
    if (!isTaken) {
      refused++;
      await during("a refused state changed something", [spec], seed, () =>
        before === undefined ? undefined : subject.settlesAt(before.result),
      );
      continue;
    }
    applied++;
    const sequence = before === undefined ? [spec] : [before.spec, spec];
    let result = await during("the controller does not converge", sequence, seed, () =>
      subject.settles(),
    );
    if (before !== undefined) {
      const { spec: first, result: expected } = before;
      const undo = async (one: Subject) => {
        await one.put(first);
        await one.settlesAt(expected);
      };
      await undo(subject).catch(async (error: unknown) => {
        const shorter = await subjects.repeat(first, spec, undo);
        const what = "a change that is undone leaves something behind";
        throw new ObjectsError(what, [first, spec, first], seed, shorter ?? error);
      });
      await subject.put(spec);
      result = await during("the controller does not converge", sequence, seed, () =>
        subject.settles(),
      );
    }
    before = { spec, result };
  }
  return { applied, refused };
}

async function during<Result>(
  what: string,
  states: readonly JsonObject[],
  seed: number,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw new ObjectsError(what, states, seed, error);
  }
}

interface Subject {
  /** Whether the server took it. */
  put(spec: JsonObject): Promise<boolean>;
  /** What there is when nothing is written any more. */
  settles(): Promise<JsonValue>;
  settlesAt(result: JsonValue): Promise<void>;
}

class Subjects<Object extends KubernetesObject> {
  readonly #k: TestControlPlane;
  readonly #options: ExploreObjectsOptions<Object>;
  #count = 0;

  constructor(k: TestControlPlane, options: ExploreObjectsOptions<Object>) {
    this.#k = k;
    this.#options = options;
  }

  /** The error of the same two states on a new object; undefined if they do not fail there. */
  async repeat(
    first: JsonObject,
    second: JsonObject,
    undo: (subject: Subject) => Promise<void>,
  ): Promise<unknown> {
    const subject = this.next();
    try {
      await subject.put(first);
      await subject.settles();
      await subject.put(second);
      await subject.settles();
      await undo(subject);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  next(): Subject {
    const name = `subject-${++this.#count}`;
    const { client, faults } = this.#k;
    const { kind, owned, check, timeoutMs = timeoutMsDefault } = this.#options;
    let isMade = false;
    const target = { name, ...(kind.namespaced ? { namespace: "default" } : {}) };
    const resource = client.resource<KubernetesObject>(kind);
    const counter = faults.writesIn("root");
    const checked = async () => {
      const object = await resource.get(target);
      // The server returned it for this resource.
      await check?.(object as Object, client);
      const made = await Promise.all(owned.map((one) => ownedBy(client, one, object)));
      const { status = null } = contentOf(object);
      // Names contain that of the object.
      return comparable([status, ...made.flat()], name);
    };
    return {
      async put(spec) {
        const state = { metadata: target, spec } as WriteInput<KubernetesObject>;
        const change = (current: KubernetesObject) => ({ ...current, spec });
        try {
          if (isMade) await resource.modify(target, change);
          else await resource.create(state);
          isMade = true;
          return true;
        } catch (error) {
          if (isStatusError(error) && error.code < 500) return false;
          throw error;
        }
      },
      settles: () => eventuallyStable(counter, checked, { timeoutMs, quietMs }),
      async settlesAt(result) {
        const compare = async () => {
          const found = await checked();
          if (isDeepStrictEqual(found, result)) return;
          throw new Error(`expected ${JSON.stringify(result)}\nfound ${JSON.stringify(found)}`);
        };
        await eventuallyStable(counter, compare, { timeoutMs });
      },
    };
  }
}

async function ownedBy(
  client: Client,
  resource: Resource,
  owner: KubernetesObject,
): Promise<object[]> {
  const { items } = await client.resource(resource).list();
  return items
    .filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid),
    )
    .map((item) => {
      const { name, namespace, labels, annotations } = item.metadata;
      return { ...contentOf(item), metadata: { name, namespace, labels, annotations } };
    })
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function contentOf({ metadata: _, ...content }: KubernetesObject): Record<string, unknown> {
  return content;
}

/** Without what differs from run to run: generations, times, and the subject's name. */
function comparable(value: unknown, name: string): JsonValue {
  if (typeof value === "string") return value.replaceAll(name, "subject");
  if (Array.isArray(value)) return value.map((one) => comparable(one, name));
  if (typeof value !== "object" || value === null) return value as JsonValue;
  const members = Object.entries(value).filter(
    ([member, one]) => one !== undefined && !volatile.has(member),
  );
  return Object.fromEntries(members.map(([member, one]) => [member, comparable(one, name)]));
}

const volatile = new Set(["observedGeneration", "lastTransitionTime", "lastUpdateTime"]);
