/**
 * The derived Service (KEP-1645): a Service with the endpoints of an import in every cluster that
 * uses it, for clients in clusters without support for ServiceImports. It has a name and an address
 * of its own, and is created where the exported Service requests it.
 *
 * The derived Service has no selector. Its endpoints are the import's EndpointSlices, which name
 * it.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { apiVersionOf, type ObjectInput, stringMember } from "@kcp-ts/sdk";
import {
  clustersetAnnotation,
  importedServiceLabel,
  type ServiceImport,
  serviceImports,
} from "../api/index.ts";
import { shortenName } from "../coordination/index.ts";
import { same } from "./controller-support.ts";
import type { DesiredImport } from "./decide-service.ts";
import { statesFor, withoutStates } from "./imports.ts";
import type { Service } from "./objects.ts";

/** The limit of a DNS label. */
const nameCharactersMax = 63;

export function derivedServiceName(service: string): string {
  return shortenName(`${service}-clusterset`, nameCharactersMax);
}

export function wantsDerivedService({ metadata }: Pick<Service, "metadata">): boolean {
  return stringMember(metadata.annotations, clustersetAnnotation) === "true";
}

/** Whether the Service is the derived Service of that import. */
export function isDerivedOf(service: Service, { metadata }: ServiceImport): boolean {
  return service.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true;
}

export function newDerivedService(
  owner: ServiceImport,
  wanted: DesiredImport,
): ObjectInput<Service> {
  const { name, namespace = "", uid = "" } = owner.metadata;
  const { kind } = serviceImports;
  return {
    metadata: {
      name: derivedServiceName(name),
      namespace,
      labels: { [importedServiceLabel]: name, ...statesFor(wanted.consumers) },
      ownerReferences: [
        { apiVersion: apiVersionOf(serviceImports), kind, name, uid, controller: true },
      ],
    },
    spec: specOf(wanted),
  };
}

/** The desired Service; the identical object when nothing changes. */
export function updatedDerivedService(
  present: Service,
  owner: ServiceImport,
  wanted: DesiredImport,
): Service {
  const { metadata, spec: current = {} } = present;
  const labels = {
    ...withoutStates(metadata.labels),
    [importedServiceLabel]: owner.metadata.name,
    ...statesFor(wanted.consumers),
  };
  // Defaults and fields that clusters add stay.
  const { sessionAffinity: _a, sessionAffinityConfig: _c, ...kept } = current;
  const spec = { ...kept, ...specOf(wanted) };
  const isSame = same(labels, metadata.labels ?? {}) && same(spec, current);
  return isSame ? present : { ...present, metadata: { ...metadata, labels }, spec };
}

function specOf({ spec }: DesiredImport): JsonObject {
  const { type, ports, sessionAffinity, sessionAffinityConfig } = spec;
  return {
    ...(type === "Headless" ? { clusterIP: "None" } : {}),
    ports: ports.map((port) => ({ ...port })),
    ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
    ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
  };
}
