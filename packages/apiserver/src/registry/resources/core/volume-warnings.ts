/** Warnings about volumes that no longer work, and about files of a volume that hide each other. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";
import { listIn, objectIn, textIn } from "../standard.ts";
import { claimSpecWarnings } from "./amount-warnings.ts";

const removed: readonly (readonly [source: string, since: string])[] = [
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
];
/** Names that warnings spell differently than the field. */
const shownNames: Readonly<Record<string, string>> = { storageos: "storageOS" };

export function volumeWarnings(volumes: JsonValue | undefined, field: string): string[] {
  const all = listIn(volumes).filter(isJsonObject);
  if (all.length === 0) return [];
  return [
    ...all.flatMap((volume, index) => sourceWarnings(volume, `${field}[${index}]`)),
    ...all.flatMap(overlapWarnings),
  ];
}

/** Of the source of a volume, or of a PersistentVolume. */
export function removedSourceWarnings(
  holder: JsonObject,
  at: string,
  sources: readonly string[] = removed.map(([source]) => source),
): string[] {
  return removed
    .filter(([source]) => holder[source] !== undefined && sources.includes(source))
    .map(([source, since]) => `${at}.${shownNames[source] ?? source}: ${since}`);
}

function sourceWarnings(volume: JsonObject, at: string): string[] {
  const { ephemeral } = volume;
  const warnings = removedSourceWarnings(volume, at);
  if (!isJsonObject(ephemeral)) return warnings;
  const spec = objectIn(objectIn(ephemeral, "volumeClaimTemplate"), "spec");
  return [...warnings, ...claimSpecWarnings(spec, `${at}.ephemeral.volumeClaimTemplate.spec`)];
}

/** A file in a volume, and where it comes from. */
interface VolumeFile {
  readonly path: string;
  readonly source: string;
}

function overlapWarnings(volume: JsonObject): string[] {
  const name = textIn(volume, "name");
  const told = (of: string) => (overlap: string) =>
    `volume ${quote(name)} (${of}): overlapping paths: ${overlap}`;
  const { configMap, secret, downwardAPI, projected } = volume;
  const ofItems = (source: JsonValue | undefined, of: (source: JsonObject) => string) =>
    isJsonObject(source) && source["items"] !== undefined
      ? overlapsIn(filesOf(source["items"], "")).map(told(of(source)))
      : [];
  return [
    ...ofItems(configMap, (source) => `ConfigMap ${quote(textIn(source, "name"))}`),
    ...ofItems(secret, (source) => `Secret ${quote(textIn(source, "secretName"))}`),
    ...ofItems(downwardAPI, () => "DownwardAPI"),
    ...(isJsonObject(projected) ? projectedWarnings(projected, name, told("Projected")) : []),
  ];
}

function projectedWarnings(
  { sources }: JsonObject,
  name: string,
  told: (overlap: string) => string,
): string[] {
  const warnings: string[] = [];
  const files: VolumeFile[] = [];
  for (const source of listIn(sources)) {
    if (!isJsonObject(source)) continue;
    if (Object.keys(source).length === 0)
      warnings.push(`volume ${quote(name)} (Projected) has no sources provided`);
    else files.push(...projectedFiles(source));
  }
  return [...warnings, ...overlapsIn(files).map(told)];
}

function projectedFiles(source: JsonObject): VolumeFile[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (isJsonObject(configMap) && configMap["items"] !== undefined)
    return filesOf(configMap["items"], `ConfigMap ${quote(textIn(configMap, "name"))}`);
  if (isJsonObject(secret) && secret["items"] !== undefined)
    return filesOf(secret["items"], `Secret ${quote(textIn(secret, "name"))}`);
  if (isJsonObject(downwardAPI) && downwardAPI["items"] !== undefined)
    return filesOf(downwardAPI["items"], "DownwardAPI");
  if (isJsonObject(serviceAccountToken))
    return [{ path: textIn(serviceAccountToken, "path"), source: "ServiceAccountToken" }];
  if (isJsonObject(clusterTrustBundle)) {
    const { name, signerName } = clusterTrustBundle;
    const source = `ClusterTrustBundle ${quote(String(name ?? signerName ?? ""))}`;
    return [{ path: textIn(clusterTrustBundle, "path"), source }];
  }
  return certificateFiles(objectIn(source, "podCertificate"));
}

function certificateFiles(source: JsonObject): VolumeFile[] {
  return [
    ["certificateChainPath", "PodCertificate chain"] as const,
    ["keyPath", "PodCertificate key"] as const,
    ["credentialBundlePath", "PodCertificate credential bundle"] as const,
  ]
    .filter(([member]) => textIn(source, member) !== "")
    .map(([member, of]) => ({ path: textIn(source, member), source: of }));
}

function filesOf(items: JsonValue | undefined, source: string): VolumeFile[] {
  return listIn(items)
    .filter(isJsonObject)
    .map((item) => ({ path: textIn(item, "path"), source }));
}

/** Overlaps of a file with all files before it: bounded, because there are squares of them. */
const overlapsMax = 100;

/** Equal paths, and paths below others. */
function overlapsIn(files: readonly VolumeFile[]): string[] {
  const overlaps: string[] = [];
  const before: VolumeFile[] = [];
  for (const file of files.slice(0, overlapsMax)) {
    const one = { ...file, path: file.path.replace(/\/+$/, "") };
    for (const other of one.path === "" ? [] : before)
      if (other.path !== "" && isWithin(one.path, other.path))
        overlaps.push(`${shown(one)} with ${shown(other)}`);
    before.push(one);
  }
  return overlaps.slice(0, overlapsMax);
}

function isWithin(a: string, b: string): boolean {
  return `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
}

function shown({ path, source }: VolumeFile): string {
  return source === "" ? quote(path) : `${quote(path)} (${source})`;
}
