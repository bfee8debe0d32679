/**
 * The Service behind which an import's endpoints are in every cluster that uses it, for who has nothing that reads ServiceImports: a name and an address of its own, in
 * the words of every Kubernetes (KEP-1645 calls it a derived Service). Made where the exported Service asks for it.
 *
 * It has no selector. Its endpoints are the import's EndpointSlices, which name it.
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
import { same } from "./acting.ts";
import type { DesiredImport } from "./decide-service.ts";
import { statesFor, withoutStates } from "./imports.ts";
import type { Service } from "./objects.ts";

/** A label of DNS. */
const nameCharactersMax = 63;

export function derivedServiceName(service: string): string {
  return shortenName(`${service}-clusterset`, nameCharactersMax);
}

export function wantsDerivedService({ metadata }: Pick<Service, "metadata">): boolean {
  return stringMember(metadata.annotations, clustersetAnnotation) === "true";
}

/** Made here, for that import. */
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

/** The Service as it should be; the very Service when it is. */
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
  // What defaults and clusters add stays.
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
