/**
 * EventRecorder: tells people what a controller did to an object, without ever getting in its way.
 *
 * The same thing told again becomes a count on the first Event; many different things of one kind become one that says so; an object that
 * is spoken of too much is not spoken of for a while. Recording never throws and never waits; what cannot be sent is dropped and reported.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  defineResource,
  type KubernetesObject,
  type ObjectInput,
} from "../client/index.ts";
import { timestamp } from "./condition.ts";
import { type CorrelatedEvent, EventCorrelator } from "./event-correlator.ts";

export interface Event extends KubernetesObject {
  readonly involvedObject: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly source: { readonly component: string };
  readonly reportingComponent: string;
  readonly reportingInstance: string;
}

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface EventInput {
  readonly type: "Normal" | "Warning";
  /** One CamelCase word, for machines. */
  readonly reason: string;
  /** For people. */
  readonly message: string;
}

export interface EventRecorderOptions {
  /** The controller's name. */
  readonly component: string;
  readonly client: (cluster: ClusterName) => Client;
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

export const events = defineResource<Event>({
  group: "",
  version: "v1",
  resource: "events",
  kind: "Event",
  namespaced: true,
});

/** Being sent at a time; what comes on top is dropped. */
export const eventsInFlightMax = 100;
/** What the server takes, in characters. */
const messageCharactersMax = 1024;

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #correlator: EventCorrelator;
  readonly #sending = new Set<Promise<void>>();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#correlator = new EventCorrelator(this.#clock);
  }

  record(cluster: ClusterName, object: KubernetesObject, happening: EventInput): void {
    const told = this.#correlator.tell(cluster, object, {
      ...happening,
      message: happening.message.slice(0, messageCharactersMax),
    });
    if (told === undefined) return;
    if (this.#sending.size >= eventsInFlightMax) {
      this.#options.onError?.(new Error(`more than ${eventsInFlightMax} events wait to be sent`));
      return;
    }
    const sending = this.#send(cluster, object, told)
      .catch((error: unknown) => this.#options.onError?.(error))
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  /** Resolves when all that was recorded is sent or dropped: before a program ends. */
  async flush(): Promise<void> {
    await Promise.all(this.#sending);
  }

  /** Events of objects without a namespace live in `default`, as Kubernetes has it. */
  async #send(
    cluster: ClusterName,
    object: KubernetesObject,
    told: CorrelatedEvent,
  ): Promise<void> {
    // One Event's create must be over before its count is patched.
    await told.previous;
    const resource = this.#options.client(cluster).resource(events);
    const namespace = object.metadata.namespace ?? "default";
    const now = timestamp(this.#clock.now());
    const sent = (async () => {
      if (told.count > 1) {
        const { count, message } = told;
        const patch = { count, message, lastTimestamp: now };
        try {
          await resource.patch({ namespace, name: told.name }, { type: "merge", patch });
          return;
        } catch (error) {
          // It was deleted or has expired: tell it anew.
          if (!isStatusError(error, "NotFound")) throw error;
        }
      }
      await resource.create(this.#event(object, told, namespace, now));
    })();
    told.settle(sent);
    await sent;
  }

  #event(
    object: KubernetesObject,
    told: CorrelatedEvent,
    namespace: string,
    now: string,
  ): ObjectInput<Event> {
    const { component } = this.#options;
    const { uid, resourceVersion, name } = object.metadata;
    return {
      metadata: { namespace, name: told.name },
      involvedObject: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        name,
        ...(object.metadata.namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type: told.type,
      reason: told.reason,
      message: told.message,
      count: told.count,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component },
      reportingComponent: component,
      reportingInstance: "",
    };
  }
}
