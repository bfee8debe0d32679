/**
 * EventRecorder: records Events about an object without ever blocking the controller.
 *
 * A repeated Event becomes a count on the first one; many different messages of one reason are
 * aggregated into one Event; an object with too many Events gets none for a while. Recording never
 * throws and never waits; Events that cannot be sent are dropped and reported.
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
import * as kinds from "../kinds/index.ts";
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
  /** The reason: one CamelCase word, for machines. */
  readonly reason: string;
  /** The message, for people. */
  readonly message: string;
}

export interface EventRecorderOptions {
  /** The controller's name. */
  readonly component: string;
  readonly client: (cluster: ClusterName) => Client;
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

export const events = defineResource<Event>(kinds.events);

/** The maximum number of requests in flight; further Events are dropped. */
export const eventsInFlightMax = 100;
/** The longest message that the server accepts, in characters. */
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

  record(cluster: ClusterName, object: KubernetesObject, eventInput: EventInput): void {
    const told = this.#correlator.correlate(cluster, object, {
      ...eventInput,
      message: eventInput.message.slice(0, messageCharactersMax),
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

  /** Resolves when all recorded Events are sent or dropped: before a program ends. */
  async flush(): Promise<void> {
    await Promise.all(this.#sending);
  }

  /** Events of cluster-scoped objects are created in `default`, as in Kubernetes. */
  async #send(
    cluster: ClusterName,
    object: KubernetesObject,
    told: CorrelatedEvent,
  ): Promise<void> {
    // The create of an Event must end before its count is patched.
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
          // The Event was deleted or has expired: it is created again.
          if (!isStatusError(error, "NotFound")) throw error;
        }
      }
      await resource.create(this.#event(object, told, namespace, now));
    })();
    told.trackSending(sent);
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
