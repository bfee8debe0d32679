/**
 * Merges the exports of several clusters under one name into one ServiceImport (KEP-1645,
 * "Constraints and Conflict Resolution").
 *
 * The cluster that has exported for longest decides conflicts; among equals, the cluster's name
 * decides. Ports are merged: by name first, then by protocol and number; the older port stays where
 * two ports are equal in one and differ in the other. Every conflict is reported.
 */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ImportedPort, ServiceImportSpec } from "../api/index.ts";
import { memberObject, memberObjects, memberText } from "./objects.ts";

/** A Service as it is in one cluster. */
export interface Constituent {
  readonly cluster: string;
  readonly sinceMs: number;
  readonly spec: JsonObject;
}

/** The conflict reasons of the KEP. */
export type ConflictReason =
  | "PortConflict"
  | "TypeConflict"
  | "SessionAffinityConflict"
  | "SessionAffinityConfigConflict"
  | "InternalTrafficPolicyConflict"
  | "TrafficDistributionConflict";

export interface Conflict {
  readonly reason: ConflictReason;
  readonly message: string;
}

export interface MergedExports {
  readonly spec: ServiceImportSpec;
  readonly conflicts: readonly Conflict[];
}

/** Undefined when no cluster exports. */
export function mergeExports(constituents: readonly Constituent[]): MergedExports | undefined {
  const ordered = [...constituents].sort(
    (a, b) => a.sinceMs - b.sinceMs || (a.cluster < b.cluster ? -1 : 1),
  );
  const [oldest] = ordered;
  if (oldest === undefined) return undefined;
  const conflicts: Conflict[] = [];
  const decided = (
    reason: ConflictReason,
    field: string,
    read: (spec: JsonObject) => JsonValue,
  ) => {
    const value = read(oldest.spec);
    const others = ordered.filter(({ spec }) => !jsonEqual(read(spec), value));
    if (others.length > 0) conflicts.push({ reason, message: disagreement(field, oldest, others) });
    return value;
  };
  const type = decided(
    "TypeConflict",
    "whether it is headless",
    typeOf,
  ) as ServiceImportSpec["type"];
  const ports = unionOf(ordered);
  decided("PortConflict", "ports", (spec) => portsOf(spec) as unknown as JsonValue);
  const affinity = decided("SessionAffinityConflict", "sessionAffinity", affinityOf) as string;
  const config = decided("SessionAffinityConfigConflict", "sessionAffinityConfig", (spec) =>
    memberObject(spec, "sessionAffinityConfig"),
  ) as JsonObject;
  const internal = decided(
    "InternalTrafficPolicyConflict",
    "internalTrafficPolicy",
    (spec) => memberText(spec, "internalTrafficPolicy") ?? "Cluster",
  ) as string;
  const distribution = decided(
    "TrafficDistributionConflict",
    "trafficDistribution",
    (spec) => memberText(spec, "trafficDistribution") ?? "",
  ) as string;
  const spec: ServiceImportSpec = {
    type,
    ports,
    ...(affinity === "None" ? {} : { sessionAffinity: affinity }),
    ...(Object.keys(config).length === 0 ? {} : { sessionAffinityConfig: config }),
    ...(internal === "Cluster" ? {} : { internalTrafficPolicy: internal }),
    ...(distribution === "" ? {} : { trafficDistribution: distribution }),
  };
  return { spec, conflicts };
}

function disagreement(field: string, winner: Constituent, others: readonly Constituent[]): string {
  const names = others.map(({ cluster }) => cluster).join(", ");
  const result = field === "ports" ? "all are served, and of two that exclude each other" : "";
  const what =
    result === "" ? `what ${winner.cluster} has counts` : `${result} that of ${winner.cluster}`;
  return `${field}: ${winner.cluster} and ${names} differ; ${what}, which has exported for longest`;
}

function typeOf(spec: JsonObject): JsonValue {
  return spec["clusterIP"] === "None" ? "Headless" : "ClusterSetIP";
}

function affinityOf(spec: JsonObject): JsonValue {
  return memberText(spec, "sessionAffinity") ?? "None";
}

/** The ports as clients of the Service see them, in a canonical order. */
export function portsOf(spec: JsonObject): readonly ImportedPort[] {
  const ports = memberObjects(spec, "ports").flatMap((port) => {
    const number = port["port"];
    if (typeof number !== "number") return [];
    const [name, appProtocol] = [memberText(port, "name"), memberText(port, "appProtocol")];
    return [
      {
        ...(name === undefined ? {} : { name }),
        protocol: memberText(port, "protocol") ?? "TCP",
        ...(appProtocol === undefined ? {} : { appProtocol }),
        port: number,
      },
    ];
  });
  return ports.sort(byPort);
}

function byPort(a: ImportedPort, b: ImportedPort): number {
  const text = ({ name = "", protocol = "" }: ImportedPort) => `${name} ${protocol}`;
  return a.port - b.port || (text(a) < text(b) ? -1 : 1);
}

function unionOf(ordered: readonly Constituent[]): readonly ImportedPort[] {
  const names = new Set<string>();
  const numbers = new Set<string>();
  const union: ImportedPort[] = [];
  for (const port of ordered.flatMap(({ spec }) => portsOf(spec))) {
    const [name, number] = [port.name ?? "", `${port.protocol} ${port.port}`];
    if (names.has(name) || numbers.has(number)) continue;
    names.add(name);
    numbers.add(number);
    union.push(port);
  }
  return union.sort(byPort);
}
