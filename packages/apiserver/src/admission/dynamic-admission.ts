/**
 * Webhooks and policies: admission that tenants configure, each for their own logical cluster.
 *
 * A cluster that has configured nothing pays one lookup in a map. The kinds that configure admission are beyond it, so that nobody can
 * lock themselves out.
 */
import { type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import type { AdmissionPlugin, AdmissionRequest, MutableObject } from "./admission.ts";
import {
  type ClusterConfiguration,
  type ConfiguredWebhook,
  configurationGroup,
  configurationResources,
  emptyConfiguration,
  type NamedBinding,
} from "./configuration.ts";
import { mutateByPolicies } from "./policies/mutating.ts";
import { validateByPolicies } from "./policies/validating.ts";
import { Reinvocation } from "./reinvocation.ts";
import { ReviewedRequest } from "./reviewed-request.ts";
import { type AdmissionSources, configuringCluster } from "./sources.ts";
import { mutateByWebhooks } from "./webhooks/mutating.ts";
import { validateByWebhooks } from "./webhooks/validating.ts";

/** Put on every object that a webhook is shown, so that it knows which logical cluster it is asked about. */
const clusterAnnotation = "kcp.io/cluster";

export class DynamicAdmission implements AdmissionPlugin {
  readonly name = "DynamicAdmission";
  readonly #sources: AdmissionSources;

  constructor(sources: AdmissionSources) {
    this.#sources = sources;
  }

  /** What is not in memory concerns us until we know better. */
  concerns(request: AdmissionRequest): boolean {
    const { group, resource } = request;
    const cluster = configuringCluster(this.#sources, request);
    if (this.#sources.configurations.peek(cluster) === emptyConfiguration) return false;
    return group !== configurationGroup || !exempt.has(resource);
  }

  async mutate(
    request: AdmissionRequest,
    draft: MutableObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const configuration = await this.#configurationOf(request);
    const { mutatingPolicies, mutatingWebhooks } = configuration;
    if (mutatingPolicies.length + mutatingWebhooks.length === 0) return;
    complete(request, draft);
    const reviewed = new ReviewedRequest(request, draft, old ?? null, this.#sources);
    await mutateAll(configuration, reviewed);
    const { object } = reviewed;
    if (object === null || object === draft) return;
    for (const member of Object.keys(draft)) delete draft[member];
    for (const member of Object.keys(object)) setMember(draft, member, object[member] as JsonValue);
  }

  async validate(
    request: AdmissionRequest,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const configuration = await this.#configurationOf(request);
    if (configuration === emptyConfiguration) return;
    const isDelete = request.operation === "DELETE";
    const reviewed = new ReviewedRequest(
      request,
      isDelete ? null : versioned(object, old),
      old ?? null,
      this.#sources,
    );
    // Nothing can be changed about an object that goes, but whoever is to be asked before is asked.
    if (isDelete) await mutateAll(configuration, reviewed);
    const { validatingPolicies, validatingWebhooks } = configuration;
    if (validatingPolicies.length > 0) await validateByPolicies(validatingPolicies, reviewed);
    if (validatingWebhooks.length > 0) await validateByWebhooks(validatingWebhooks, reviewed);
  }

  async #configurationOf(request: AdmissionRequest): Promise<ClusterConfiguration> {
    const { configurations } = this.#sources;
    const cluster = configuringCluster(this.#sources, request);
    return configurations.peek(cluster) ?? configurations.load(cluster);
  }
}

const exempt: ReadonlySet<string> = new Set(configurationResources);

/** Policies, then webhooks, and once more whoever wants to see what later ones made of the object. */
async function mutateAll(
  { mutatingPolicies, mutatingWebhooks }: ClusterConfiguration,
  reviewed: ReviewedRequest,
): Promise<void> {
  const policies = new Reinvocation<NamedBinding>();
  const webhooks = new Reinvocation<ConfiguredWebhook>();
  if (mutatingPolicies.length > 0) await mutateByPolicies(mutatingPolicies, reviewed, policies);
  const before = reviewed.object;
  if (mutatingWebhooks.length > 0) await mutateByWebhooks(mutatingWebhooks, reviewed, webhooks);
  if (reviewed.object !== before) policies.noteChange();
  if (!policies.isNeeded && !webhooks.isNeeded) return;
  const first = reviewed.object;
  policies.beginAgain();
  webhooks.beginAgain();
  if (mutatingPolicies.length > 0) await mutateByPolicies(mutatingPolicies, reviewed, policies);
  if (reviewed.object !== first) webhooks.noteChange();
  if (mutatingWebhooks.length > 0) await mutateByWebhooks(mutatingWebhooks, reviewed, webhooks);
}

/** An update is shown with the version that it is about, whether or not its sender named one. */
function versioned(object: JsonObject, old: JsonObject | undefined): JsonObject {
  if (old === undefined) return object;
  const metadata = object["metadata"] as JsonObject;
  const { resourceVersion } = old["metadata"] as JsonObject;
  if (resourceVersion === undefined || metadata["resourceVersion"] !== undefined) return object;
  return { ...object, metadata: { ...metadata, resourceVersion } };
}

/** What the server knows of the object already, and sets again when it is stored. */
function complete(request: AdmissionRequest, draft: MutableObject): void {
  const { gvk, namespace, cluster, operation } = request;
  const { group, version, kind } = gvk;
  if (draft["kind"] === undefined) {
    draft["kind"] = kind;
    draft["apiVersion"] = group === "" ? version : `${group}/${version}`;
  }
  // Options have no metadata.
  if (operation === "CONNECT") return;
  const metadata = { ...(draft["metadata"] as JsonObject | undefined) };
  if (namespace !== "") metadata["namespace"] = namespace;
  const annotations = metadata["annotations"] as JsonObject | undefined;
  draft["metadata"] = {
    ...metadata,
    annotations: { ...annotations, [clusterAnnotation]: cluster },
  };
}
