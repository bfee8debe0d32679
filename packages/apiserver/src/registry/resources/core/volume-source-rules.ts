/**
 * The rules of the sources of volumes, in the words of Kubernetes: of those that Pods and
 * PersistentVolumes share.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { nameErrorsAt, required, requiredLabel } from "../rules.ts";
import { listIn, objectIn, textIn } from "../standard.ts";
import { csiDriverNameErrors } from "./csi-driver-name.ts";
import { backstepErrors } from "./path-rules.ts";

export type SourceRule = (source: JsonObject, at: string) => FieldError[];

const moreThanOne = "may not specify more than 1 volume type";

/** The errors of the first source, in the order of the rules; a volume has no second one. */
export function oneSourceErrors(
  holder: JsonObject,
  at: string,
  rules: ReadonlyMap<string, SourceRule>,
): FieldError[] {
  const [first, ...others] = [...rules.keys()].filter((name) => isJsonObject(holder[name]));
  if (first === undefined) return [fieldError.required(at, "must specify a volume type")];
  return [
    ...(rules.get(first)?.(objectIn(holder, first), `${at}.${errorNames.get(first) ?? first}`) ??
      []),
    ...others.map((other) =>
      fieldError.forbidden(`${at}.${otherNames.get(other) ?? other}`, moreThanOne),
    ),
  ];
}

/** Fields whose errors Kubernetes reports under another name. */
const errorNames: ReadonlyMap<string, string> = new Map([["gcePersistentDisk", "persistentDisk"]]);
const otherNames: ReadonlyMap<string, string> = new Map([
  ["cephfs", "cephFS"],
  ["downwardAPI", "downwarAPI"],
]);

export const needs =
  (...members: readonly string[]): SourceRule =>
  (source, at) =>
    members.flatMap((member) => required(source, member, at));

const needsItems =
  (member: string): SourceRule =>
  (source, at) =>
    listIn(source[member]).length === 0 ? [fieldError.required(`${at}.${member}`)] : [];

export const all =
  (...rules: readonly SourceRule[]): SourceRule =>
  (source, at) =>
    rules.flatMap((rule) => rule(source, at));

/** A reference to a Secret that has these members, if there is one. */
export const secretWith =
  (...members: readonly string[]): SourceRule =>
  (source, at) =>
    isJsonObject(source["secretRef"])
      ? needs(...members)(objectIn(source, "secretRef"), `${at}.secretRef`)
      : [];

/** A number of a byte; `min` is the one that the message names. */
function byteErrors(value: JsonValue | undefined, at: string, min = 0): FieldError[] {
  const number = Number(value ?? 0);
  const detail = `must be between ${min} and 255, inclusive`;
  return number < 0 || number > 255 ? [fieldError.invalid(at, number, detail)] : [];
}

const partition: SourceRule = (source, at) => byteErrors(source["partition"], `${at}.partition`, 1);

const pathTypes = [
  ...["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"],
  ...["FileOrCreate", "Socket"],
];

const hostPath: SourceRule = (source, at) => {
  const missing = required(source, "path", at);
  if (missing.length > 0) return missing;
  const type = textIn(source, "type");
  return [
    ...backstepErrors(textIn(source, "path"), `${at}.path`),
    ...(pathTypes.includes(type) ? [] : [fieldError.notSupported(`${at}.type`, type, pathTypes)]),
  ];
};

const nfs: SourceRule = (source, at) => {
  const path = textIn(source, "path");
  return [
    ...needs("server", "path")(source, at),
    ...(path.startsWith("/")
      ? []
      : [fieldError.invalid(`${at}.path`, path, "must be an absolute path")]),
  ];
};

/** The forms of names of iSCSI devices. */
const iscsiNames: Readonly<Record<string, RegExp>> = {
  iqn: /^iqn\.\d{4}-\d{2}\.([a-z0-9-.]+)(:([^,;*&$|\s]+))$/,
  eui: /^eui\.[a-fA-F0-9]{16}$/,
  naa: /^naa\.[a-fA-F0-9]{32}$/,
};

function iscsiNameErrors(name: string, at: string, isPersistent: boolean): FieldError[] {
  const form = iscsiNames[name.slice(0, 3)];
  if (form?.test(name) === true) return [];
  const start = form === undefined && !isPersistent ? " starting with iqn, eui, or naa" : "";
  return [fieldError.invalid(at, name, `must be valid format${start}`)];
}

const iscsi =
  (isPersistent: boolean): SourceRule =>
  (source, at) => {
    const [name, secret] = [textIn(source, "iqn"), source["secretRef"]];
    const isAuthenticated =
      source["chapAuthDiscovery"] === true || source["chapAuthSession"] === true;
    const { initiatorName } = source;
    return [
      ...needs("targetPortal")(source, at),
      ...(name === ""
        ? [fieldError.required(`${at}.iqn`)]
        : iscsiNameErrors(name, `${at}.iqn`, isPersistent)),
      ...byteErrors(source["lun"], `${at}.lun`),
      ...(isAuthenticated && secret === undefined ? [fieldError.required(`${at}.secretRef`)] : []),
      ...(isPersistent ? secretWith("name")(source, at) : []),
      ...(initiatorName === undefined
        ? []
        : iscsiNameErrors(String(initiatorName), `${at}.initiatorname`, isPersistent)),
    ];
  };

const fibreChannel: SourceRule = (source, at) => {
  const names = listIn(source["targetWWNs"]);
  const hasIdentifiers = listIn(source["wwids"]).length > 0;
  const field = `${at}.targetWWNs`;
  if (names.length === 0)
    return hasIdentifiers
      ? []
      : [fieldError.required(field, "must specify either targetWWNs or wwids, but not both")];
  const both = "targetWWNs and wwids can not be specified simultaneously";
  return [
    ...(hasIdentifiers ? [fieldError.invalid(field, names as JsonValue, both)] : []),
    ...(source["lun"] === undefined
      ? [fieldError.required(`${at}.lun`, "lun is required if targetWWNs is specified")]
      : byteErrors(source["lun"], `${at}.lun`)),
  ];
};

const registryText = "must be a host:port pair or multiple pairs separated by commas";

const quobyte: SourceRule = (source, at) => {
  const registry = textIn(source, "registry");
  const pairs = registry.split(",");
  const isPair = (text: string) => /^(\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text);
  return [
    ...(registry === ""
      ? [fieldError.required(`${at}.registry`, registryText)]
      : textIn(source, "tenant").length > 64
        ? [
            fieldError.required(
              `${at}.tenant`,
              "must be a UUID and may not exceed a length of 64 characters",
            ),
          ]
        : pairs
            .filter((pair) => !isPair(pair))
            .map(() => fieldError.invalid(`${at}.registry`, registry, registryText))),
    ...needs("volume")(source, at),
  ];
};

const flocker: SourceRule = (source, at) => {
  const [name, uuid] = [textIn(source, "datasetName"), textIn(source, "datasetUUID")];
  const errors: FieldError[] = [];
  if (name === "" && uuid === "")
    errors.push(fieldError.required(at, "one of datasetName and datasetUUID is required"));
  if (name !== "" && uuid !== "") {
    const both = "datasetName and datasetUUID can not be specified simultaneously";
    errors.push(fieldError.invalid(at, "resource", both));
  }
  if (name.includes("/"))
    errors.push(fieldError.invalid(`${at}.datasetName`, name, "must not contain '/'"));
  return errors;
};

export const flexVolume: SourceRule = (source, at) => [
  ...needs("driver")(source, at),
  ...Object.keys(objectIn(source, "options"))
    .filter((name) => /(^|\.)(kubernetes|k8s)\.io(\/|$)/i.test(name.split("/")[0] ?? ""))
    .map((name) =>
      fieldError.invalid(
        `${at}.options[${name}]`,
        name,
        "kubernetes.io and k8s.io namespaces are reserved",
      ),
    ),
];

const cachingModes = ["None", "ReadOnly", "ReadWrite"];
const diskKinds = ["Dedicated", "Managed", "Shared"];
const managedDisk =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const blobDisk = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

const azureDisk: SourceRule = (source, at) => {
  const [mode, kind] = [textIn(source, "cachingMode"), textIn(source, "kind")];
  const address = textIn(source, "diskURI");
  const errors = needs("diskName", "diskURI")(source, at);
  if (!cachingModes.includes(mode))
    errors.push(fieldError.notSupported(`${at}.cachingMode`, mode, cachingModes));
  if (!diskKinds.includes(kind))
    errors.push(fieldError.notSupported(`${at}.kind`, kind, diskKinds));
  const isManaged = kind === "Managed";
  if (!address.startsWith(isManaged ? "/subscriptions/" : "https://"))
    errors.push(
      fieldError.notSupported(`${at}.diskURI`, address, [isManaged ? managedDisk : blobDisk]),
    );
  return errors;
};

const storageOs: SourceRule = (source, at) => {
  const namespace = textIn(source, "volumeNamespace");
  return [
    ...requiredLabel(source, "volumeName", at),
    ...(namespace === "" ? [] : nameErrorsAt(namespace, `${at}.volumeNamespace`, dnsLabelErrors)),
  ];
};

/** The rules that do not depend on who has the volume. */
const shared = {
  hostPath,
  nfs,
  fc: fibreChannel,
  quobyte,
  flocker,
  flexVolume,
  azureDisk,
  gcePersistentDisk: all(needs("pdName"), partition),
  awsElasticBlockStore: all(needs("volumeID"), partition),
  rbd: all(needsItems("monitors"), needs("image")),
  cephfs: needsItems("monitors"),
  vsphereVolume: needs("volumePath"),
  photonPersistentDisk: needs("pdID"),
  portworxVolume: needs("volumeID"),
  scaleIO: needs("gateway", "system", "volumeName"),
} satisfies Readonly<Record<string, SourceRule>>;

/** Of the sources that a Pod can have, those whose rules depend on nothing else of the Pod. */
export const podSources = {
  ...shared,
  iscsi: iscsi(false),
  glusterfs: needs("endpoints", "path"),
  cinder: all(needs("volumeID"), secretWith("name")),
  azureFile: needs("secretName", "shareName"),
  storageos: all(storageOs, secretWith("name")),
  persistentVolumeClaim: needs("claimName"),
} satisfies Readonly<Record<string, SourceRule>>;

const gluster: SourceRule = (source, at) => {
  const { endpointsNamespace: namespace } = source;
  const field = `${at}.endpointsNamespace`;
  const errors = needs("endpoints", "path")(source, at);
  if (namespace === undefined) return errors;
  const empty = "if the endpointnamespace is set, it must be a valid namespace name";
  return namespace === ""
    ? [...errors, fieldError.invalid(field, namespace, empty)]
    : [...errors, ...nameErrorsAt(String(namespace), field, dnsLabelErrors)];
};

const azureFile: SourceRule = (source, at) => [
  ...needs("secretName", "shareName")(source, at),
  ...(source["secretNamespace"] === undefined ? [] : required(source, "secretNamespace", at)),
];

const csiSecrets = ["controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"];

const csi: SourceRule = (source, at) => [
  ...csiDriverNameErrors(textIn(source, "driver"), `${at}.driver`),
  ...needs("volumeHandle")(source, at),
  ...csiSecrets.flatMap((use) => {
    const member = `${use}SecretRef`;
    if (!isJsonObject(source[member])) return [];
    const [secret, field] = [objectIn(source, member), `${at}.${member}`];
    const [name, namespace] = [textIn(secret, "name"), textIn(secret, "namespace")];
    return [
      ...(name === ""
        ? required(secret, "name", field)
        : nameErrorsAt(name, `${field}.name`, dnsSubdomainErrors)),
      ...(namespace === ""
        ? required(secret, "namespace", field)
        : nameErrorsAt(namespace, `${field}.namespace`, dnsLabelErrors)),
    ];
  }),
];

const local: SourceRule = (source, at) => {
  const missing = required(source, "path", at);
  return missing.length > 0 ? missing : backstepErrors(textIn(source, "path"), `${at}.path`);
};

/** The sources of PersistentVolumes, in the order in which they are looked at. */
export const persistentSources: ReadonlyMap<string, SourceRule> = new Map(
  Object.entries({
    hostPath,
    gcePersistentDisk: shared.gcePersistentDisk,
    awsElasticBlockStore: shared.awsElasticBlockStore,
    glusterfs: gluster,
    flocker,
    nfs,
    rbd: shared.rbd,
    quobyte,
    cephfs: shared.cephfs,
    iscsi: iscsi(true),
    cinder: all(needs("volumeID"), secretWith("name", "namespace")),
    fc: fibreChannel,
    azureFile,
    vsphereVolume: shared.vsphereVolume,
    photonPersistentDisk: shared.photonPersistentDisk,
    portworxVolume: shared.portworxVolume,
    azureDisk,
    scaleIO: shared.scaleIO,
    local,
    storageos: all(storageOs, secretWith("name", "namespace")),
    csi,
  }),
);
