/** Validation of a Pod's volumes, in the words of Kubernetes. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { annotationErrors, labelErrors } from "@kcp-ts/machinery/meta";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { oneOf, required, requiredLabel } from "../rules.ts";
import { itemErrors, objectIn, textIn } from "../standard.ts";
import { claimSpecErrors } from "./claim-rules.ts";
import { csiDriverNameErrors } from "./csi-driver-name.ts";
import type { Volumes } from "./mount-rules.ts";
import { relativePathErrors } from "./path-rules.ts";
import { downwardVolume, keyedVolume, projectedVolume } from "./projected-rules.ts";
import { needs, oneSourceErrors, podSources, type SourceRule } from "./volume-source-rules.ts";

const emptyDir: SourceRule = (source, at) => {
  const { sizeLimit } = source;
  const isBad = sizeLimit !== undefined && isNegativeQuantity(String(sizeLimit));
  const detail = "SizeLimit field must be a valid resource quantity";
  return isBad ? [fieldError.forbidden(`${at}.sizeLimit`, detail)] : [];
};

const gitRepo: SourceRule = (source, at) => [
  ...needs("repository")(source, at),
  ...relativePathErrors(textIn(source, "directory"), `${at}.directory`),
];

const csi: SourceRule = (source, at) => {
  const errors = csiDriverNameErrors(textIn(source, "driver"), `${at}.driver`);
  if (!isJsonObject(source["nodePublishSecretRef"])) return errors;
  const secret = objectIn(source, "nodePublishSecretRef");
  const name = textIn(secret, "name");
  return [
    ...errors,
    ...(name === ""
      ? required(secret, "name", `${at}.nodePublishSecretRef`)
      : dnsSubdomainErrors(name).map((text) => fieldError.invalid(`${at}.name`, name, text))),
  ];
};

const ephemeral: SourceRule = (source, at) => {
  const field = `${at}.volumeClaimTemplate`;
  if (!isJsonObject(source["volumeClaimTemplate"])) return [fieldError.required(field)];
  const template = objectIn(source, "volumeClaimTemplate");
  const { annotations, labels, ...others } = objectIn(template, "metadata");
  return [
    ...annotationErrors(
      (annotations ?? {}) as Record<string, string>,
      `${field}.metadata.annotations`,
    ),
    ...labelErrors((labels ?? {}) as Record<string, string>, `${field}.metadata.labels`),
    ...Object.keys(others).map((member) =>
      fieldError.forbidden(`${field}.metadata.${member}`, "cannot be set"),
    ),
    ...claimSpecErrors(objectIn(template, "spec"), `${field}.spec`),
  ];
};

const pullPolicies = ["Always", "IfNotPresent", "Never"];

/** The sources of volumes, in the order in which Kubernetes looks at them. */
const sourcesOf = (isPod: boolean): ReadonlyMap<string, SourceRule> =>
  new Map<string, SourceRule>([
    ["emptyDir", emptyDir],
    ["hostPath", podSources.hostPath],
    ["gitRepo", gitRepo],
    ["gcePersistentDisk", podSources.gcePersistentDisk],
    ["awsElasticBlockStore", podSources.awsElasticBlockStore],
    ["secret", keyedVolume("secretName")],
    ["nfs", podSources.nfs],
    ["iscsi", podSources.iscsi],
    ["glusterfs", podSources.glusterfs],
    ["flocker", podSources.flocker],
    ["persistentVolumeClaim", podSources.persistentVolumeClaim],
    ["rbd", podSources.rbd],
    ["cinder", podSources.cinder],
    ["cephfs", podSources.cephfs],
    ["quobyte", podSources.quobyte],
    ["downwardAPI", downwardVolume],
    ["fc", podSources.fc],
    ["flexVolume", podSources.flexVolume],
    ["configMap", keyedVolume("name")],
    ["azureFile", podSources.azureFile],
    ["vsphereVolume", podSources.vsphereVolume],
    ["photonPersistentDisk", podSources.photonPersistentDisk],
    ["portworxVolume", podSources.portworxVolume],
    ["azureDisk", podSources.azureDisk],
    ["storageos", podSources.storageos],
    ["projected", projectedVolume],
    ["scaleIO", podSources.scaleIO],
    ["csi", csi],
    ["ephemeral", ephemeral],
    [
      "image",
      (source, at) => [
        ...(isPod ? required(source, "reference", at) : []),
        ...oneOf(source, "pullPolicy", pullPolicies, at),
      ],
    ],
  ]);

const ofPods = sourcesOf(true);
const ofTemplates = sourcesOf(false);

/** The errors, and the volumes that containers may mount. */
export function volumeErrors(
  volumes: JsonValue | undefined,
  field: string,
  isPod: boolean,
): { readonly volumes: Volumes; readonly errors: FieldError[] } {
  const valid = new Map<string, JsonObject>();
  const errors = itemErrors<JsonObject>(volumes, field, (volume, at) => {
    const name = textIn(volume, "name");
    const found = [
      ...oneSourceErrors(volume, at, isPod ? ofPods : ofTemplates),
      ...requiredLabel(volume, "name", at),
    ];
    if (valid.has(name)) found.push(fieldError.duplicate(`${at}.name`, name));
    if (found.length === 0) valid.set(name, volume);
    return found;
  });
  return { volumes: valid, errors };
}
