/** Warnings about PersistentVolumes and claims of them. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { listIn, objectIn } from "../standard.ts";
import { claimSpecWarnings } from "./amount-warnings.ts";
import { nodeTermWarnings } from "./node-label-warnings.ts";
import { removedSourceWarnings } from "./volume-warnings.ts";

const classAnnotation = [
  "volume.beta.kubernetes.io/storage-class",
  'deprecated since v1.8; use "storageClassName" attribute instead',
] as const;
const mountAnnotation = [
  "volume.beta.kubernetes.io/mount-options",
  'deprecated since v1.31; use "mountOptions" attribute instead',
] as const;

export function claimWarnings(object: JsonObject): string[] {
  return [
    ...annotationWarnings(object, [classAnnotation]),
    ...claimSpecWarnings(objectIn(object, "spec"), "spec"),
  ];
}

/** In the order of the warnings. */
const removedSources = [
  ...["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"],
];

export function persistentVolumeWarnings(object: JsonObject): string[] {
  const spec = objectIn(object, "spec");
  const terms = listIn(objectIn(objectIn(spec, "nodeAffinity"), "required")["nodeSelectorTerms"]);
  return [
    ...annotationWarnings(object, [classAnnotation, mountAnnotation]),
    ...(spec["persistentVolumeReclaimPolicy"] === "Recycle"
      ? [
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ]
      : []),
    ...(terms as readonly JsonObject[]).flatMap((term, index) =>
      nodeTermWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`),
    ),
    ...removedSources.flatMap((source) => removedSourceWarnings(spec, "spec", [source])),
  ];
}

function annotationWarnings(
  object: JsonObject,
  deprecated: readonly (readonly [key: string, text: string])[],
): string[] {
  const annotations = objectIn(objectIn(object, "metadata"), "annotations");
  return deprecated
    .filter(([key]) => annotations[key] !== undefined)
    .map(([key, text]) => `metadata.annotations[${key}]: ${text}`);
}
