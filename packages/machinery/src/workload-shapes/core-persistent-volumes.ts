/** PersistentVolumes and what they are made of. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  list,
  map,
  message,
  objectMeta,
  quantity,
  string,
  time,
  zeroless,
} from "../shape/index.ts";
import { nodeSelector, objectReference, secretReference } from "./core-references.ts";
import {
  awsElasticBlockStoreVolumeSource,
  azureDiskVolumeSource,
  fcVolumeSource,
  flockerVolumeSource,
  gcePersistentDiskVolumeSource,
  hostPathVolumeSource,
  nfsVolumeSource,
  photonPersistentDiskVolumeSource,
  portworxVolumeSource,
  quobyteVolumeSource,
  vsphereVirtualDiskVolumeSource,
} from "./core-volumes.ts";

const group = "io.k8s.api.core.v1";

const glusterfsPersistentVolumeSource = message(
  `${group}.GlusterfsPersistentVolumeSource`,
  {
    endpoints: [1, string],
    path: [2, string],
    readOnly: [3, zeroless(bool)],
    endpointsNamespace: [4, string],
  },
  "",
  { required: ["endpoints", "path"] },
);

const rbdPersistentVolumeSource = message(
  `${group}.RBDPersistentVolumeSource`,
  {
    monitors: [1, list(string)],
    image: [2, string],
    fsType: [3, zeroless(string)],
    pool: [4, zeroless(string)],
    user: [5, zeroless(string)],
    keyring: [6, zeroless(string)],
    secretRef: [7, secretReference],
    readOnly: [8, zeroless(bool)],
  },
  "",
  { required: ["monitors", "image"] },
);

const iscsiPersistentVolumeSource = message(
  `${group}.ISCSIPersistentVolumeSource`,
  {
    targetPortal: [1, string],
    iqn: [2, string],
    lun: [3, int32],
    iscsiInterface: [4, zeroless(string)],
    fsType: [5, zeroless(string)],
    readOnly: [6, zeroless(bool)],
    portals: [7, list(string)],
    chapAuthDiscovery: [8, zeroless(bool)],
    secretRef: [10, secretReference],
    chapAuthSession: [11, zeroless(bool)],
    initiatorName: [12, string],
  },
  "",
  { required: ["targetPortal", "iqn", "lun"] },
);

const cinderPersistentVolumeSource = message(
  `${group}.CinderPersistentVolumeSource`,
  {
    volumeID: [1, string],
    fsType: [2, zeroless(string)],
    readOnly: [3, zeroless(bool)],
    secretRef: [4, secretReference],
  },
  "",
  { required: ["volumeID"] },
);

const cephFSPersistentVolumeSource = message(
  `${group}.CephFSPersistentVolumeSource`,
  {
    monitors: [1, list(string)],
    path: [2, zeroless(string)],
    user: [3, zeroless(string)],
    secretFile: [4, zeroless(string)],
    secretRef: [5, secretReference],
    readOnly: [6, zeroless(bool)],
  },
  "",
  { required: ["monitors"] },
);

const flexPersistentVolumeSource = message(
  `${group}.FlexPersistentVolumeSource`,
  {
    driver: [1, string],
    fsType: [2, zeroless(string)],
    secretRef: [3, secretReference],
    readOnly: [4, zeroless(bool)],
    options: [5, map(string)],
  },
  "",
  { required: ["driver"] },
);

const azureFilePersistentVolumeSource = message(
  `${group}.AzureFilePersistentVolumeSource`,
  {
    secretName: [1, string],
    shareName: [2, string],
    readOnly: [3, zeroless(bool)],
    secretNamespace: [4, string],
  },
  "",
  { required: ["secretName", "shareName"] },
);

const scaleIOPersistentVolumeSource = message(
  `${group}.ScaleIOPersistentVolumeSource`,
  {
    gateway: [1, string],
    system: [2, string],
    secretRef: [3, secretReference],
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

const localVolumeSource = message(
  `${group}.LocalVolumeSource`,
  {
    path: [1, string],
    fsType: [2, string],
  },
  "",
  { required: ["path"] },
);

const storageOSPersistentVolumeSource = message(`${group}.StorageOSPersistentVolumeSource`, {
  volumeName: [1, zeroless(string)],
  volumeNamespace: [2, zeroless(string)],
  fsType: [3, zeroless(string)],
  readOnly: [4, zeroless(bool)],
  secretRef: [5, objectReference],
});

const csiPersistentVolumeSource = message(
  `${group}.CSIPersistentVolumeSource`,
  {
    driver: [1, string],
    volumeHandle: [2, string],
    readOnly: [3, zeroless(bool)],
    fsType: [4, zeroless(string)],
    volumeAttributes: [5, map(string)],
    controllerPublishSecretRef: [6, secretReference],
    nodeStageSecretRef: [7, secretReference],
    nodePublishSecretRef: [8, secretReference],
    controllerExpandSecretRef: [9, secretReference],
    nodeExpandSecretRef: [10, secretReference],
  },
  "",
  { required: ["driver", "volumeHandle"] },
);

const persistentVolumeSource = message(`${group}.PersistentVolumeSource`, {
  gcePersistentDisk: [1, gcePersistentDiskVolumeSource],
  awsElasticBlockStore: [2, awsElasticBlockStoreVolumeSource],
  hostPath: [3, hostPathVolumeSource],
  glusterfs: [4, glusterfsPersistentVolumeSource],
  nfs: [5, nfsVolumeSource],
  rbd: [6, rbdPersistentVolumeSource],
  iscsi: [7, iscsiPersistentVolumeSource],
  cinder: [8, cinderPersistentVolumeSource],
  cephfs: [9, cephFSPersistentVolumeSource],
  fc: [10, fcVolumeSource],
  flocker: [11, flockerVolumeSource],
  flexVolume: [12, flexPersistentVolumeSource],
  azureFile: [13, azureFilePersistentVolumeSource],
  vsphereVolume: [14, vsphereVirtualDiskVolumeSource],
  quobyte: [15, quobyteVolumeSource],
  azureDisk: [16, azureDiskVolumeSource],
  photonPersistentDisk: [17, photonPersistentDiskVolumeSource],
  portworxVolume: [18, portworxVolumeSource],
  scaleIO: [19, scaleIOPersistentVolumeSource],
  local: [20, localVolumeSource],
  storageos: [21, storageOSPersistentVolumeSource],
  csi: [22, csiPersistentVolumeSource],
});

const volumeNodeAffinity = message(`${group}.VolumeNodeAffinity`, {
  required: [1, nodeSelector],
});

const persistentVolumeSpec = message(
  `${group}.PersistentVolumeSpec`,
  {
    capacity: [1, map(quantity)],
    accessModes: [3, list(string)],
    claimRef: [4, objectReference],
    persistentVolumeReclaimPolicy: [5, zeroless(string)],
    storageClassName: [6, zeroless(string)],
    mountOptions: [7, list(string)],
    volumeMode: [8, string],
    nodeAffinity: [9, volumeNodeAffinity],
    volumeAttributesClassName: [10, string],
  },
  "",
  { inlined: [2, persistentVolumeSource] },
);

const persistentVolumeStatus = message(`${group}.PersistentVolumeStatus`, {
  phase: [1, zeroless(string)],
  message: [2, zeroless(string)],
  reason: [3, zeroless(string)],
  lastPhaseTransitionTime: [4, time],
});

export const persistentVolume = message(`${group}.PersistentVolume`, {
  metadata: [1, objectMeta],
  spec: [2, persistentVolumeSpec],
  status: [3, persistentVolumeStatus],
});
