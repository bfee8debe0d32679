/**
 * One reconcile of the negotiation for one resource of one logical cluster: the writes from the
 * current to the desired state, one after the other. A write that would change nothing is skipped;
 * the next reconcile resumes an interrupted one.
 *
 * A definition is deleted only when no object is stored in it. An object that is written between
 * the check and the deletion is deleted with it.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Condition,
  type ConditionInput,
  type KubernetesObject,
  type Resource,
  setCondition,
} from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  type ApiResourceSpec,
  apiResourceImports,
  apiVersionAnnotation,
  groupOf,
  type NegotiatedAPIResource,
  negotiatedApiResources,
  negotiationFieldManager,
} from "../api/index.ts";
import {
  availableCondition,
  compatibleCondition,
  negotiatedStatus,
  type PublicationState,
} from "./conditions.ts";
import {
  customResourceDefinitions,
  type Definition,
  definitionFor,
  isNegotiated,
} from "./definitions.ts";
import { type NegotiationPlan, type PlannedVersion, planNegotiation } from "./plan-negotiation.ts";

export interface NegotiationRequest {
  /** The name of the definition: `deployments.apps`. */
  readonly name: string;
  readonly imports: readonly APIResourceImport[];
  readonly negotiated: readonly NegotiatedAPIResource[];
  readonly autoPublish: boolean;
  readonly client: Client;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export interface NegotiationOutcome {
  /** A definition is kept only because objects are stored: requeue. */
  readonly isWaiting: boolean;
}

export function reconcileNegotiation(input: NegotiationRequest): Promise<NegotiationOutcome> {
  return new NegotiationReconciler(input).reconcile();
}

const options = { fieldManager: negotiationFieldManager } as const;

class NegotiationReconciler {
  readonly #input: NegotiationRequest;

  constructor(input: NegotiationRequest) {
    this.#input = input;
  }

  async reconcile(): Promise<NegotiationOutcome> {
    const { name, imports, negotiated, autoPublish, client, signal } = this.#input;
    const definitions = client.resource(customResourceDefinitions);
    let definition = await definitions.find({ name }, { signal });
    // A definition that is being deleted is neither kept nor replaced: its deletion triggers
    // another reconcile.
    if (definition?.metadata.deletionTimestamp !== undefined) return { isWaiting: true };
    const plan = await runSyncFirst(
      planNegotiation({ imports, negotiated, definition, autoPublish }),
    );
    const written = new Map<string, NegotiatedAPIResource>();
    for (const planned of plan.versions) {
      const object = await this.#writeNegotiated(planned);
      if (object !== undefined) written.set(planned.version, object);
    }
    let kept: string | undefined;
    let refusal: string | undefined;
    const why = reasonToGo(plan);
    if (definition !== undefined && isNegotiated(definition) && why !== undefined) {
      if (!(await this.#deleteUnused(definition)))
        kept = `${why}; it is kept because objects are stored in it`;
      else if (plan.chosen !== undefined) return { isWaiting: false };
      else definition = undefined;
    }
    if (!plan.isEnforced && plan.chosen !== undefined && kept === undefined) {
      const outcome = await this.#writeDefinition(plan.chosen, written, definition);
      definition = outcome.definition ?? definition;
      refusal = outcome.refusal;
    }
    const publication: PublicationState = { plan, definition, refusal, kept };
    await this.#sayNegotiated(publication, written);
    await this.#sayImports(publication);
    await this.#removeAbandoned(plan, definition);
    return { isWaiting: kept !== undefined || refusal !== undefined };
  }

  async #writeNegotiated({
    version,
    api,
    publish,
  }: PlannedVersion): Promise<NegotiatedAPIResource | undefined> {
    if (api === undefined) return undefined;
    const { client, negotiated, signal } = this.#input;
    const resource = client.resource(negotiatedApiResources);
    const known = negotiated.find(({ spec }) => spec.groupVersion.version === version);
    if (known === undefined) {
      const group = groupOf(api.groupVersion);
      const annotations = {
        [apiVersionAnnotation]: group === "" ? version : `${group}/${version}`,
      };
      const metadata = { name: negotiatedName(api), annotations };
      return await resource.create({ metadata, spec: { ...api, publish } }, { ...options, signal });
    }
    const spec = { ...api, publish };
    if (jsonEqual(known.spec as unknown as JsonValue, spec as unknown as JsonValue)) return known;
    return await resource.update({ ...known, spec }, { ...options, signal });
  }

  async #writeDefinition(
    { version, api }: PlannedVersion,
    written: ReadonlyMap<string, NegotiatedAPIResource>,
    known: Definition | undefined,
  ): Promise<{ readonly definition?: Definition; readonly refusal?: string }> {
    const owner = written.get(version);
    if (api === undefined || owner === undefined) return {};
    const { client, signal } = this.#input;
    const wanted = definitionFor(api, owner);
    if (known !== undefined && includes(known, wanted)) return {};
    const resource = client.resource(customResourceDefinitions);
    try {
      const { uid } = known?.metadata ?? {};
      const metadata = { ...wanted.metadata, ...(uid === undefined ? {} : { uid }) };
      const input = { ...wanted, metadata };
      const definition = await resource.apply(input, { ...options, force: true, signal });
      return { definition };
    } catch (error) {
      // A retry would fail in the same way: the error is reported, and the next change triggers
      // another reconcile.
      if (!isStatusError(error, "Invalid") && !isStatusError(error, "Forbidden")) throw error;
      return {
        refusal: `the control plane does not take the definition: ${error.message}`.slice(0, 2048),
      };
    }
  }

  /** Whether the definition is deleted, or being deleted. */
  async #deleteUnused(definition: Definition): Promise<boolean> {
    const { client, signal } = this.#input;
    const { spec } = definition;
    const version = spec.versions.find(({ served }) => served)?.name;
    if (version !== undefined) {
      const { group, scope, names } = spec;
      const resource: Resource = {
        group,
        version,
        resource: names.plural,
        kind: names.kind,
        namespaced: scope === "Namespaced",
      };
      try {
        const { items } = await client.resource(resource).listMetadata({ limit: 1, signal });
        if (items.length > 0) return false;
      } catch (error) {
        // The definition is not served: no visible object can be stored through it.
        if (!isStatusError(error, "NotFound")) throw error;
        if (!isNeverServed(definition)) return false;
      }
    }
    await ignoringAbsence(
      client.resource(customResourceDefinitions).sameObject(definition).remove({ signal }),
    );
    return true;
  }

  async #sayNegotiated(
    publication: PublicationState,
    written: ReadonlyMap<string, NegotiatedAPIResource>,
  ): Promise<void> {
    const { plan } = publication;
    for (const planned of plan.versions) {
      const object = written.get(planned.version);
      if (object === undefined) continue;
      await this.#say(
        negotiatedApiResources,
        object,
        negotiatedStatus(planned.version, planned, publication),
      );
    }
    for (const object of plan.abandoned) {
      const { version } = object.spec.groupVersion;
      await this.#say(
        negotiatedApiResources,
        object,
        negotiatedStatus(version, undefined, publication),
      );
    }
  }

  async #sayImports(publication: PublicationState): Promise<void> {
    const { plan } = publication;
    const byName = new Map(this.#input.imports.map((one) => [one.metadata.name, one]));
    for (const planned of plan.versions) {
      const [, published] = negotiatedStatus(planned.version, planned, publication);
      for (const member of planned.members) {
        const result = planned.compatibility.get(member.name);
        const object = byName.get(member.name);
        if (result === undefined || object === undefined || published === undefined) continue;
        await this.#say(apiResourceImports, object, [
          compatibleCondition(member, result, plan.isEnforced),
          availableCondition(published),
        ]);
      }
    }
  }

  /**
   * The owner of a definition stays as long as the definition: garbage collection would delete
   * both.
   */
  async #removeAbandoned(plan: NegotiationPlan, definition: Definition | undefined): Promise<void> {
    const { client, signal } = this.#input;
    const owners = new Set(definition?.metadata.ownerReferences?.map(({ uid }) => uid));
    for (const abandoned of plan.abandoned) {
      if (owners.has(abandoned.metadata.uid ?? "")) continue;
      await ignoringAbsence(
        client.resource(negotiatedApiResources).sameObject(abandoned).remove({ signal }),
      );
    }
  }

  async #say(
    resource: typeof negotiatedApiResources | typeof apiResourceImports,
    object: KubernetesObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
    inputs: readonly ConditionInput[],
  ): Promise<void> {
    const { client, nowMs, signal } = this.#input;
    const before = object.status?.conditions ?? [];
    let conditions: readonly Condition[] = before;
    for (const one of inputs) conditions = setCondition(conditions, one, nowMs);
    if (conditions === before) return;
    const patch = { status: { conditions } } as unknown as JsonObject;
    const written = client
      .resource(resource as Resource)
      .sameObject(object)
      .mergePatchStatus(patch, { ...options, signal });
    await ignoringAbsence(written.then(() => {}));
  }
}

export function negotiatedName({ plural, groupVersion }: ApiResourceSpec): string {
  const group = groupOf(groupVersion);
  return `${plural}.${groupVersion.version}.${group === "" ? "core" : group}`;
}

/** Why the published definition should be deleted or replaced. */
function reasonToGo({ chosen, betterIf, versions }: NegotiationPlan): string | undefined {
  if (chosen !== undefined) return betterIf;
  return versions.length === 0 ? "no cluster serves it any more" : "spec.publish is false";
}

function isNeverServed({ status }: Definition): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") !==
    true
  );
}

/** Whether the definition contains all desired values; the server adds defaults. */
function includes(
  known: Definition,
  wanted: Omit<Definition, "apiVersion" | "kind" | "metadata"> & {
    metadata: Partial<Definition["metadata"]>;
  },
): boolean {
  const [one] = known.spec.versions;
  const [other] = wanted.spec.versions;
  const owner = wanted.metadata.ownerReferences?.[0]?.uid;
  return (
    known.spec.versions.length === 1 &&
    known.metadata.ownerReferences?.some(({ uid }) => uid === owner) === true &&
    isPart(wanted.spec.names as unknown as JsonValue, known.spec.names as unknown as JsonValue) &&
    one?.name === other?.name &&
    jsonEqual((one?.subresources ?? {}) as JsonValue, (other?.subresources ?? {}) as JsonValue) &&
    jsonEqual(
      (one?.additionalPrinterColumns ?? []) as unknown as JsonValue,
      (other?.additionalPrinterColumns ?? []) as unknown as JsonValue,
    ) &&
    jsonEqual(one?.schema?.openAPIV3Schema ?? {}, other?.schema?.openAPIV3Schema ?? {})
  );
}

function isPart(part: JsonValue, workload: JsonValue): boolean {
  return Object.entries(part as Record<string, JsonValue>).every(([name, value]) =>
    jsonEqual(value, (workload as Record<string, JsonValue>)[name] ?? null),
  );
}

async function ignoringAbsence(done: Promise<void>): Promise<void> {
  try {
    await done;
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
