/**
 * The virtual workspace of an APIExport: its own resources and those that it claims, in one
 * workspace of its consumers or in all of them.
 *
 * The virtual workspace is a catalog like a logical cluster's, so that the handlers of all verbs
 * serve it; its definitions restrict the visible objects.
 */
import type { Catalog, Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { ClusterScope } from "@kcp-ts/apiserver/request/request-scope";
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, setMember } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { member } from "../../workspaces/index.ts";
import { exportLabel } from "../binding-metadata.ts";
import type { BoundResourceCatalog } from "../bound-resource-catalog.ts";
import { acceptedClaimIn, claimHash, claimLabel, isClaimOn, isSelected } from "../claims.ts";
import type { ApiSharingDependencies } from "../dependencies.ts";
import { apiBindings, apiBindingsV1alpha1 } from "../kinds/definitions.ts";
import { exportHash } from "../kinds/hashes.ts";
import type { Claim, ExportRecord } from "../records.ts";
import { isBuiltInIdentity, isSystemExport } from "../system-exports.ts";
import { type ClaimedWrite, claimForbidden } from "./claimed-write.ts";
import { denyOwnerChangeWithoutDelete, validateClaimedWrite } from "./claimed-writes.ts";
import { RestrictedDefinition } from "./restricted-definition.ts";

const readVerbs: readonly string[] = ["get", "list", "watch"];
const bindingVersions: readonly ResourceDefinition[] = [apiBindings, apiBindingsV1alpha1];

export class ApiExportVirtualWorkspace implements Catalog {
  readonly #dependencies: ApiSharingDependencies;
  readonly #catalog: BoundResourceCatalog;
  readonly #record: ExportRecord;
  #all: Promise<readonly ResourceDefinition[]> | undefined;

  constructor(parts: ApiSharingDependencies, catalog: BoundResourceCatalog, record: ExportRecord) {
    this.#dependencies = parts;
    this.#catalog = catalog;
    this.#record = record;
  }

  async find(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const record = this.#record;
    if (record.resources.some((one) => one.resource === resource && one.group === group))
      return this.#exported(cluster, group, version, resource);
    const claim = record.claims.find((one) => isClaimOn(one, group, resource));
    if (claim !== undefined) return this.#claimed(claim, cluster, group, version, resource);
    return this.#consumerBindings(group, version, resource);
  }

  /** The catalog is the same for every consumer, and for all of them. */
  all(): Promise<readonly ResourceDefinition[]> {
    this.#all ??= this.#listAll();
    const { resources } = this.#record;
    return resources.some(({ virtual }) => virtual !== undefined) ? this.#withVirtual() : this.#all;
  }

  /** Resources with virtual storage depend on more objects than the export. */
  async #withVirtual(): Promise<readonly ResourceDefinition[]> {
    const definitions = [...((await this.#all) ?? [])];
    for (const resource of this.#record.resources)
      if (resource.virtual !== undefined)
        definitions.push(...(await this.#catalog.virtualDefinitions(this.#record, resource)));
    return definitions;
  }

  async #exported(
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const isVirtual = this.#record.resources.some(
      (one) => one.resource === resource && one.group === group && one.virtual !== undefined,
    );
    if (isVirtual && cluster === "*")
      throw statusError.badRequest("Wildcard request not supported");
    const isForAll = cluster === "*" || isSystemExport(this.#record.cluster, this.#record.name);
    const base = isForAll
      ? await this.#catalog.exported(this.#record, group, version, resource)
      : await this.#bound(cluster, group, version, resource, this.#record.identityHash);
    return base === undefined ? undefined : new RestrictedDefinition(base, {});
  }

  /** The resource as the consumer's binding serves it, if it is this provider's resource there. */
  async #bound(
    cluster: ClusterName,
    group: string,
    version: string,
    resource: string,
    identity: string,
  ): Promise<ResourceDefinition | undefined> {
    const served = this.#dependencies.bindings.inCluster(cluster)?.find(group, resource);
    if (served?.bound.identityHash !== identity) return undefined;
    return this.#catalog.definitionOf(served, version);
  }

  async #claimed(
    claim: Claim,
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const base = await this.#baseOf(claim, cluster, group, version, resource);
    if (base === undefined) return undefined;
    const isAny = claim.verbs.includes("*");
    // A review is not stored: it is evaluated in the consumer's workspace.
    if (base.isReview === true) return isAny || claim.verbs.includes("create") ? base : undefined;
    // Bindings of the export itself are always visible, in addition to claimed bindings.
    const isOwn = bindingVersions.includes(base) ? this.#isOwnBinding() : undefined;
    const isShownAnyway = (verb: string) => isOwn !== undefined && readVerbs.includes(verb);
    const verbs = base.verbs.filter(
      (verb) => isAny || claim.verbs.includes(verb) || isShownAnyway(verb),
    );
    const isVisible = this.#visibility(claim, group, resource);
    const wasVisible = this.#withClaimLabels(claim);
    const accepted = cluster === "*" ? undefined : this.#acceptedIn(cluster, group, resource);
    const write =
      accepted === undefined || cluster === "*"
        ? undefined
        : { dependencies: this.#dependencies, record: this.#record, cluster, claim: accepted };
    return new RestrictedDefinition(base, {
      verbs,
      isVisible: either(isOwn, isVisible),
      // An object of a withdrawn claim loses its label a moment later: watches send its DELETED
      // event then.
      wasVisible: either(isOwn, wasVisible),
      isWritable: isVisible,
      prepare: write && ((draft, old) => this.#enforce(write, draft, old)),
      prevalidate:
        write &&
        ((draft, old, address) => validateClaimedWrite({ ...write, ...address }, draft, old)),
      onRetired: (callback) => this.#dependencies.onExportChanged(this.#record, callback),
    });
  }

  async #baseOf(
    claim: Claim,
    cluster: ClusterScope,
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const { identityHash } = claim;
    if (isBuiltInIdentity(this.#dependencies, claim))
      return this.#dependencies.builtIns.find(
        (one) => one.resource === resource && one.group === group && one.version === version,
      );
    if (cluster === "*")
      return this.#catalog.find("*", group, version, `${resource}:${identityHash}`);
    return this.#bound(cluster, group, version, resource, identityHash);
  }

  #acceptedIn(cluster: ClusterName, group: string, resource: string): Claim | undefined {
    return acceptedClaimIn(this.#dependencies.bindings, cluster, this.#record, { group, resource })
      ?.claim;
  }

  /** Visible objects have the claim label, and their workspace still accepts the claim. */
  #visibility(claim: Claim, group: string, resource: string): (entry: Entry) => boolean {
    const isLabelled = this.#withClaimLabels(claim);
    return (entry) => {
      if (!isLabelled(entry)) return false;
      const accepted = this.#acceptedIn(parseObjectKey(entry.key).cluster, group, resource);
      return accepted !== undefined && isSelected(accepted, cachedLabels(entry));
    };
  }

  /**
   * Enforces that the claim of a write covers the written object, and adds the labels that the
   * claim requires.
   */
  #enforce(write: ClaimedWrite, draft: Draft, old: JsonObject | undefined): void {
    const { claim } = write;
    denyOwnerChangeWithoutDelete(write, draft, old);
    const metadata = member(draft, "metadata");
    const labels: { [key: string]: string } = { ...(member(metadata, "labels") as object) };
    for (const [key, value] of Object.entries(claim.selector?.matchLabels ?? {})) {
      if (labels[key] === undefined) setMember(labels, key, value);
      else if (labels[key] !== value)
        throw claimForbidden(claim, draft, `protected label ${key} must have value ${value}`);
    }
    if (!isSelected(claim, labels))
      throw claimForbidden(claim, draft, "object does not match required labels");
    labels[claimLabel(this.#record.cluster, this.#record.name)] = claimHash(claim);
    draft["metadata"] = { ...metadata, labels };
  }

  #withClaimLabels(claim: Claim): (entry: Entry) => boolean {
    const label = claimLabel(this.#record.cluster, this.#record.name);
    const value = claimHash(claim);
    return (entry) => cachedLabels(entry)?.[label] === value;
  }

  #consumerBindings(
    group: string,
    version: string,
    resource: string,
  ): ResourceDefinition | undefined {
    const base = bindingVersions.find(
      (one) => one.group === group && one.version === version && one.resource === resource,
    );
    if (base === undefined) return undefined;
    return new RestrictedDefinition(base, { verbs: readVerbs, isVisible: this.#isOwnBinding() });
  }

  #isOwnBinding(): (entry: Entry) => boolean {
    const own = exportHash(this.#record.cluster, this.#record.name);
    return (entry) => cachedLabels(entry)?.[exportLabel] === own;
  }

  async #listAll(): Promise<readonly ResourceDefinition[]> {
    const record = this.#record;
    const definitions: (ResourceDefinition | undefined)[] = [];
    for (const { group, resource, schema, virtual } of record.resources) {
      const found = await this.#dependencies.schemas.current(record.cluster, schema);
      for (const { version } of found?.shared.versions ?? [])
        if (virtual === undefined)
          definitions.push(await this.#exported("*", group, version, resource));
    }
    for (const claim of record.claims) {
      for (const { group, version, resource } of await this.#definitions(claim)) {
        const isOwn = record.resources.some(
          (one) => one.resource === resource && one.group === group,
        );
        if (!isOwn) definitions.push(await this.#claimed(claim, "*", group, version, resource));
      }
    }
    const { group, resource } = apiBindings;
    if (!record.claims.some((claim) => isClaimOn(claim, group, resource)))
      for (const { version } of bindingVersions)
        definitions.push(this.#consumerBindings(group, version, resource));
    return definitions.filter((one) => one !== undefined);
  }

  /** The definitions of a claimed resource: all its versions, and both groups of Events. */
  async #definitions(
    claim: Claim,
  ): Promise<readonly { group: string; version: string; resource: string }[]> {
    if (isBuiltInIdentity(this.#dependencies, claim))
      return this.#dependencies.builtIns.filter(({ group, resource }) =>
        isClaimOn(claim, group, resource),
      );
    for (const other of this.#dependencies.exports.values()) {
      if (other.identityHash !== claim.identityHash) continue;
      const { group, resource } = claim;
      const found = other.resources.find(
        (one) => one.resource === resource && one.group === group && one.virtual === undefined,
      );
      const schema =
        found && (await this.#dependencies.schemas.current(other.cluster, found.schema));
      if (schema !== undefined)
        return schema.shared.versions.map(({ version }) => ({ group, version, resource }));
    }
    return [];
  }
}

type Visibility = (entry: Entry) => boolean;

function either(one: Visibility | undefined, other: Visibility): Visibility {
  return one === undefined ? other : (entry) => one(entry) || other(entry);
}
