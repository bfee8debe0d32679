/** Where the volumes of a Pod come from. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  int64,
  labelSelector,
  list,
  map,
  message,
  objectMeta,
  quantity,
  string,
  zeroless,
} from "../shape/index.ts";
import { persistentVolumeClaimSpec } from "./core-claims.ts";
import {
  localObjectReference,
  objectFieldSelector,
  resourceFieldSelector,
} from "./core-references.ts";

const group = "io.k8s.api.core.v1";

export const hostPathVolumeSource = message(
  `${group}.HostPathVolumeSource`,
  {
    path: [1, string],
    type: [2, string],
  },
  "",
  { required: ["path"] },
);

const emptyDirVolumeSource = message(`${group}.EmptyDirVolumeSource`, {
  medium: [1, zeroless(string)],
  sizeLimit: [2, quantity],
});

export const gcePersistentDiskVolumeSource = message(
  `${group}.GCEPersistentDiskVolumeSource`,
  {
    pdName: [1, string],
    fsType: [2, zeroless(string)],
    partition: [3, zeroless(int32)],
    readOnly: [4, zeroless(bool)],
  },
  "",
  { required: ["pdName"] },
);

export const awsElasticBlockStoreVolumeSource = message(
  `${group}.AWSElasticBlockStoreVolumeSource`,
  {
    volumeID: [1, string],
    fsType: [2, zeroless(string)],
    partition: [3, zeroless(int32)],
    readOnly: [4, zeroless(bool)],
  },
  "",
  { required: ["volumeID"] },
);

const gitRepoVolumeSource = message(
  `${group}.GitRepoVolumeSource`,
  {
    repository: [1, string],
    revision: [2, zeroless(string)],
    directory: [3, zeroless(string)],
  },
  "",
  { required: ["repository"] },
);

const keyToPath = message(
  `${group}.KeyToPath`,
  {
    key: [1, string],
    path: [2, string],
    mode: [3, int32],
  },
  "",
  { required: ["key", "path"] },
);

const secretVolumeSource = message(`${group}.SecretVolumeSource`, {
  secretName: [1, zeroless(string)],
  items: [2, list(keyToPath)],
  defaultMode: [3, int32],
  optional: [4, bool],
});

export const nfsVolumeSource = message(
  `${group}.NFSVolumeSource`,
  {
    server: [1, string],
    path: [2, string],
    readOnly: [3, zeroless(bool)],
  },
  "",
  { required: ["server", "path"] },
);

const iscsiVolumeSource = message(
  `${group}.ISCSIVolumeSource`,
  {
    targetPortal: [1, string],
    iqn: [2, string],
    lun: [3, int32],
    iscsiInterface: [4, zeroless(string)],
    fsType: [5, zeroless(string)],
    readOnly: [6, zeroless(bool)],
    portals: [7, list(string)],
    chapAuthDiscovery: [8, zeroless(bool)],
    secretRef: [10, localObjectReference],
    chapAuthSession: [11, zeroless(bool)],
    initiatorName: [12, string],
  },
  "",
  { required: ["targetPortal", "iqn", "lun"] },
);

const glusterfsVolumeSource = message(
  `${group}.GlusterfsVolumeSource`,
  {
    endpoints: [1, string],
    path: [2, string],
    readOnly: [3, zeroless(bool)],
  },
  "",
  { required: ["endpoints", "path"] },
);

const persistentVolumeClaimVolumeSource = message(
  `${group}.PersistentVolumeClaimVolumeSource`,
  {
    claimName: [1, string],
    readOnly: [2, zeroless(bool)],
  },
  "",
  { required: ["claimName"] },
);

const rbdVolumeSource = message(
  `${group}.RBDVolumeSource`,
  {
    monitors: [1, list(string)],
    image: [2, string],
    fsType: [3, zeroless(string)],
    pool: [4, zeroless(string)],
    user: [5, zeroless(string)],
    keyring: [6, zeroless(string)],
    secretRef: [7, localObjectReference],
    readOnly: [8, zeroless(bool)],
  },
  "",
  { required: ["monitors", "image"] },
);

const flexVolumeSource = message(
  `${group}.FlexVolumeSource`,
  {
    driver: [1, string],
    fsType: [2, zeroless(string)],
    secretRef: [3, localObjectReference],
    readOnly: [4, zeroless(bool)],
    options: [5, map(string)],
  },
  "",
  { required: ["driver"] },
);

const cinderVolumeSource = message(
  `${group}.CinderVolumeSource`,
  {
    volumeID: [1, string],
    fsType: [2, zeroless(string)],
    readOnly: [3, zeroless(bool)],
    secretRef: [4, localObjectReference],
  },
  "",
  { required: ["volumeID"] },
);

const cephFSVolumeSource = message(
  `${group}.CephFSVolumeSource`,
  {
    monitors: [1, list(string)],
    path: [2, zeroless(string)],
    user: [3, zeroless(string)],
    secretFile: [4, zeroless(string)],
    secretRef: [5, localObjectReference],
    readOnly: [6, zeroless(bool)],
  },
  "",
  { required: ["monitors"] },
);

export const flockerVolumeSource = message(`${group}.FlockerVolumeSource`, {
  datasetName: [1, zeroless(string)],
  datasetUUID: [2, zeroless(string)],
});

const downwardAPIVolumeFile = message(
  `${group}.DownwardAPIVolumeFile`,
  {
    path: [1, string],
    fieldRef: [2, objectFieldSelector],
    resourceFieldRef: [3, resourceFieldSelector],
    mode: [4, int32],
  },
  "",
  { required: ["path"] },
);

const downwardAPIVolumeSource = message(`${group}.DownwardAPIVolumeSource`, {
  items: [1, list(downwardAPIVolumeFile)],
  defaultMode: [2, int32],
});

export const fcVolumeSource = message(`${group}.FCVolumeSource`, {
  targetWWNs: [1, list(string)],
  lun: [2, int32],
  fsType: [3, zeroless(string)],
  readOnly: [4, zeroless(bool)],
  wwids: [5, list(string)],
});

const azureFileVolumeSource = message(
  `${group}.AzureFileVolumeSource`,
  {
    secretName: [1, string],
    shareName: [2, string],
    readOnly: [3, zeroless(bool)],
  },
  "",
  { required: ["secretName", "shareName"] },
);

const configMapVolumeSource = message(
  `${group}.ConfigMapVolumeSource`,
  {
    items: [2, list(keyToPath)],
    defaultMode: [3, int32],
    optional: [4, bool],
  },
  "",
  { inlined: [1, localObjectReference] },
);

export const vsphereVirtualDiskVolumeSource = message(
  `${group}.VsphereVirtualDiskVolumeSource`,
  {
    volumePath: [1, string],
    fsType: [2, zeroless(string)],
    storagePolicyName: [3, zeroless(string)],
    storagePolicyID: [4, zeroless(string)],
  },
  "",
  { required: ["volumePath"] },
);

export const quobyteVolumeSource = message(
  `${group}.QuobyteVolumeSource`,
  {
    registry: [1, string],
    volume: [2, string],
    readOnly: [3, zeroless(bool)],
    user: [4, zeroless(string)],
    group: [5, zeroless(string)],
    tenant: [6, zeroless(string)],
  },
  "",
  { required: ["registry", "volume"] },
);

export const azureDiskVolumeSource = message(
  `${group}.AzureDiskVolumeSource`,
  {
    diskName: [1, string],
    diskURI: [2, string],
    cachingMode: [3, string],
    fsType: [4, string],
    readOnly: [5, bool],
    kind: [6, string],
  },
  "",
  { required: ["diskName", "diskURI"] },
);

export const photonPersistentDiskVolumeSource = message(
  `${group}.PhotonPersistentDiskVolumeSource`,
  {
    pdID: [1, string],
    fsType: [2, zeroless(string)],
  },
  "",
  { required: ["pdID"] },
);

export const portworxVolumeSource = message(
  `${group}.PortworxVolumeSource`,
  {
    volumeID: [1, string],
    fsType: [2, zeroless(string)],
    readOnly: [3, zeroless(bool)],
  },
  "",
  { required: ["volumeID"] },
);

const scaleIOVolumeSource = message(
  `${group}.ScaleIOVolumeSource`,
  {
    gateway: [1, string],
    system: [2, string],
    secretRef: [3, localObjectReference],
    sslEnabled: [4, zeroless(bool)],
    protectionDomain: [5, zeroless(string)],
    storagePool: [6, zeroless(string)],
    storageMode: [7, zeroless(string)],
    volumeName: [8, zeroless(string)],
    fsType: [9, zeroless(string)],
    readOnly: [10, zeroless(bool)],
  },
  "",
  { required: ["gateway", "system", "secretRef"] },
);

const secretProjection = message(
  `${group}.SecretProjection`,
  {
    items: [2, list(keyToPath)],
    optional: [4, bool],
  },
  "",
  { inlined: [1, localObjectReference] },
);

const downwardAPIProjection = message(`${group}.DownwardAPIProjection`, {
  items: [1, list(downwardAPIVolumeFile)],
});

const configMapProjection = message(
  `${group}.ConfigMapProjection`,
  {
    items: [2, list(keyToPath)],
    optional: [4, bool],
  },
  "",
  { inlined: [1, localObjectReference] },
);

const serviceAccountTokenProjection = message(
  `${group}.ServiceAccountTokenProjection`,
  {
    audience: [1, zeroless(string)],
    expirationSeconds: [2, int64],
    path: [3, string],
  },
  "",
  { required: ["path"] },
);

const clusterTrustBundleProjection = message(
  `${group}.ClusterTrustBundleProjection`,
  {
    name: [1, string],
    signerName: [2, string],
    labelSelector: [3, labelSelector],
    path: [4, string],
    optional: [5, bool],
  },
  "",
  { required: ["path"] },
);

const podCertificateProjection = message(`${group}.PodCertificateProjection`, {
  signerName: [1, zeroless(string)],
  keyType: [2, zeroless(string)],
  maxExpirationSeconds: [3, int32],
  credentialBundlePath: [4, zeroless(string)],
  keyPath: [5, zeroless(string)],
  certificateChainPath: [6, zeroless(string)],
  userAnnotations: [7, map(string)],
});

const volumeProjection = message(`${group}.VolumeProjection`, {
  secret: [1, secretProjection],
  downwardAPI: [2, downwardAPIProjection],
  configMap: [3, configMapProjection],
  serviceAccountToken: [4, serviceAccountTokenProjection],
  clusterTrustBundle: [5, clusterTrustBundleProjection],
  podCertificate: [6, podCertificateProjection],
});

const projectedVolumeSource = message(`${group}.ProjectedVolumeSource`, {
  sources: [1, list(volumeProjection)],
  defaultMode: [2, int32],
});

const storageOSVolumeSource = message(`${group}.StorageOSVolumeSource`, {
  volumeName: [1, zeroless(string)],
  volumeNamespace: [2, zeroless(string)],
  fsType: [3, zeroless(string)],
  readOnly: [4, zeroless(bool)],
  secretRef: [5, localObjectReference],
});

const csiVolumeSource = message(
  `${group}.CSIVolumeSource`,
  {
    driver: [1, string],
    readOnly: [2, bool],
    fsType: [3, string],
    volumeAttributes: [4, map(string)],
    nodePublishSecretRef: [5, localObjectReference],
  },
  "",
  { required: ["driver"] },
);

const persistentVolumeClaimTemplate = message(
  `${group}.PersistentVolumeClaimTemplate`,
  {
    metadata: [1, objectMeta],
    spec: [2, persistentVolumeClaimSpec],
  },
  "",
  { required: ["spec"] },
);

const ephemeralVolumeSource = message(`${group}.EphemeralVolumeSource`, {
  volumeClaimTemplate: [1, persistentVolumeClaimTemplate],
});

const imageVolumeSource = message(`${group}.ImageVolumeSource`, {
  reference: [1, zeroless(string)],
  pullPolicy: [2, zeroless(string)],
});

const volumeSource = message(`${group}.VolumeSource`, {
  hostPath: [1, hostPathVolumeSource],
  emptyDir: [2, emptyDirVolumeSource],
  gcePersistentDisk: [3, gcePersistentDiskVolumeSource],
  awsElasticBlockStore: [4, awsElasticBlockStoreVolumeSource],
  gitRepo: [5, gitRepoVolumeSource],
  secret: [6, secretVolumeSource],
  nfs: [7, nfsVolumeSource],
  iscsi: [8, iscsiVolumeSource],
  glusterfs: [9, glusterfsVolumeSource],
  persistentVolumeClaim: [10, persistentVolumeClaimVolumeSource],
  rbd: [11, rbdVolumeSource],
  flexVolume: [12, flexVolumeSource],
  cinder: [13, cinderVolumeSource],
  cephfs: [14, cephFSVolumeSource],
  flocker: [15, flockerVolumeSource],
  downwardAPI: [16, downwardAPIVolumeSource],
  fc: [17, fcVolumeSource],
  azureFile: [18, azureFileVolumeSource],
  configMap: [19, configMapVolumeSource],
  vsphereVolume: [20, vsphereVirtualDiskVolumeSource],
  quobyte: [21, quobyteVolumeSource],
  azureDisk: [22, azureDiskVolumeSource],
  photonPersistentDisk: [23, photonPersistentDiskVolumeSource],
  portworxVolume: [24, portworxVolumeSource],
  scaleIO: [25, scaleIOVolumeSource],
  projected: [26, projectedVolumeSource],
  storageos: [27, storageOSVolumeSource],
  csi: [28, csiVolumeSource],
  ephemeral: [29, ephemeralVolumeSource],
  image: [30, imageVolumeSource],
});

export const volume = message(
  `${group}.Volume`,
  {
    name: [1, string],
  },
  "",
  { required: ["name"], inlined: [2, volumeSource] },
);
