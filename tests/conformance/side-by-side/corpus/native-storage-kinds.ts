/** Classes, drivers and attachments of volumes, and claims of devices. */
import type { NativeKindCase } from "./kind-requests.ts";

const selector = { matchLabels: { app: "web" } };
const badSelector = { matchExpressions: [{ key: "a", operator: "Like" }] };

export const storage: readonly NativeKindCase[] = [
  {
    kind: "StorageClass",
    apiVersion: "storage.k8s.io/v1",
    resource: "storageclasses",
    isNamespaced: false,
    body: { provisioner: "example.com/disk" },
    changes: [
      ["no provisioner", "provisioner", ""],
      ["a bad provisioner", "provisioner", "A b/c"],
      ["an unknown policy", "reclaimPolicy", "Burn"],
      ["recycled", "reclaimPolicy", "Recycle"],
      ["an unknown binding", "volumeBindingMode", "Later"],
      ["later", "volumeBindingMode", "WaitForFirstConsumer"],
      ["parameters", "parameters", { type: "fast" }],
      ["a parameter without a name", "parameters", { "": "fast" }],
      [
        "topologies",
        "allowedTopologies",
        [{ matchLabelExpressions: [{ key: "zone", values: ["a"] }] }],
      ],
      [
        "topologies without values",
        "allowedTopologies",
        [{ matchLabelExpressions: [{ key: "zone", values: [] }] }],
      ],
      [
        "a topology twice",
        "allowedTopologies",
        [
          { matchLabelExpressions: [{ key: "zone", values: ["a"] }] },
          { matchLabelExpressions: [{ key: "zone", values: ["a"] }] },
        ],
      ],
    ],
    updates: [
      ["another provisioner", "provisioner", "example.com/other"],
      ["parameters", "parameters", { type: "fast" }],
      ["another policy", "reclaimPolicy", "Retain"],
      ["another binding", "volumeBindingMode", "WaitForFirstConsumer"],
      ["growing", "allowVolumeExpansion", true],
    ],
  },
  {
    kind: "CSIDriver",
    apiVersion: "storage.k8s.io/v1",
    resource: "csidrivers",
    isNamespaced: false,
    body: { spec: { attachRequired: false } },
    changes: [
      ["no spec", "spec", undefined],
      ["modes", "spec.volumeLifecycleModes", ["Persistent", "Ephemeral"]],
      ["an unknown mode", "spec.volumeLifecycleModes", ["Forever"]],
      ["an unknown policy", "spec.fsGroupPolicy", "Some"],
      ["tokens", "spec.tokenRequests", [{ audience: "a", expirationSeconds: 600 }]],
      ["short tokens", "spec.tokenRequests", [{ audience: "a", expirationSeconds: 5 }]],
      ["a token twice", "spec.tokenRequests", [{ audience: "a" }, { audience: "a" }]],
    ],
    updates: [
      ["attached", "spec.attachRequired", true],
      ["another policy", "spec.fsGroupPolicy", "None"],
    ],
  },
  {
    kind: "CSINode",
    apiVersion: "storage.k8s.io/v1",
    resource: "csinodes",
    isNamespaced: false,
    body: { spec: { drivers: [{ name: "d.example.com", nodeID: "n" }] } },
    changes: [
      ["no drivers", "spec.drivers", []],
      ["no spec", "spec", undefined],
      ["a driver without a name", "spec.drivers", [{ nodeID: "n" }]],
      ["a driver without a node", "spec.drivers", [{ name: "d.example.com" }]],
      [
        "a driver twice",
        "spec.drivers",
        [
          { name: "d.example.com", nodeID: "n" },
          { name: "d.example.com", nodeID: "n" },
        ],
      ],
      ["keys", "spec.drivers", [{ name: "d", nodeID: "n", topologyKeys: ["a", "b"] }]],
      ["keys twice", "spec.drivers", [{ name: "d", nodeID: "n", topologyKeys: ["a", "a"] }]],
      [
        "a negative count",
        "spec.drivers",
        [{ name: "d", nodeID: "n", allocatable: { count: -1 } }],
      ],
    ],
    updates: [["another node", "spec.drivers", [{ name: "d.example.com", nodeID: "m" }]]],
  },
  {
    kind: "CSIStorageCapacity",
    apiVersion: "storage.k8s.io/v1",
    resource: "csistoragecapacities",
    body: { storageClassName: "fast", capacity: "1024Mi" },
    changes: [
      ["no class", "storageClassName", ""],
      ["a bad class", "storageClassName", "A b"],
      ["negative", "capacity", "-1"],
      ["negative volumes", "maximumVolumeSize", "-1"],
      ["nodes", "nodeTopology", selector],
      ["bad nodes", "nodeTopology", badSelector],
    ],
    updates: [
      ["another class", "storageClassName", "slow"],
      ["more", "capacity", "2Gi"],
    ],
  },
  {
    kind: "VolumeAttachment",
    apiVersion: "storage.k8s.io/v1",
    resource: "volumeattachments",
    isNamespaced: false,
    body: {
      spec: { attacher: "d.example.com", nodeName: "n", source: { persistentVolumeName: "disk" } },
    },
    status: { attached: true },
    changes: [
      ["no attacher", "spec.attacher", ""],
      ["no node", "spec.nodeName", ""],
      ["a bad node", "spec.nodeName", "A b"],
      ["no source", "spec.source", {}],
      ["no spec", "spec", undefined],
    ],
    updates: [["another node", "spec.nodeName", "m"]],
  },
  {
    kind: "VolumeAttributesClass",
    apiVersion: "storage.k8s.io/v1",
    resource: "volumeattributesclasses",
    isNamespaced: false,
    body: { driverName: "d.example.com", parameters: { a: "b" } },
    changes: [
      ["no driver", "driverName", ""],
      ["a bad driver", "driverName", "A b"],
      ["no parameters", "parameters", undefined],
    ],
    updates: [
      ["another driver", "driverName", "e.example.com"],
      ["other parameters", "parameters", { a: "c" }],
    ],
  },
];

const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.example.com" } }] };

export const claims: readonly NativeKindCase[] = [
  {
    kind: "ResourceClaim",
    apiVersion: "resource.k8s.io/v1",
    resource: "resourceclaims",
    body: { spec: { devices } },
    status: {},
    changes: [
      ["nothing", "spec", {}],
      ["no class", "spec.devices", { requests: [{ name: "gpu", exactly: {} }] }],
      ["no name", "spec.devices", { requests: [{ exactly: { deviceClassName: "a" } }] }],
      [
        "a bad name",
        "spec.devices",
        { requests: [{ name: "A b", exactly: { deviceClassName: "a" } }] },
      ],
      ["nothing requested", "spec.devices", { requests: [{ name: "gpu" }] }],
      [
        "a name twice",
        "spec.devices",
        {
          requests: [
            { name: "gpu", exactly: { deviceClassName: "a" } },
            { name: "gpu", exactly: { deviceClassName: "a" } },
          ],
        },
      ],
      [
        "an unknown mode",
        "spec.devices",
        { requests: [{ name: "gpu", exactly: { deviceClassName: "a", allocationMode: "Some" } }] },
      ],
      [
        "none",
        "spec.devices",
        { requests: [{ name: "gpu", exactly: { deviceClassName: "a", count: -1 } }] },
      ],
      [
        "all of many",
        "spec.devices",
        {
          requests: [
            { name: "gpu", exactly: { deviceClassName: "a", allocationMode: "All", count: 2 } },
          ],
        },
      ],
      [
        "the first available",
        "spec.devices",
        { requests: [{ name: "gpu", firstAvailable: [{ name: "big", deviceClassName: "a" }] }] },
      ],
    ],
    updates: [["other devices", "spec.devices", {}]],
  },
  {
    kind: "ResourceClaimTemplate",
    apiVersion: "resource.k8s.io/v1",
    resource: "resourceclaimtemplates",
    body: { spec: { spec: { devices } } },
    changes: [
      ["nothing", "spec", {}],
      ["no class", "spec.spec.devices", { requests: [{ name: "gpu", exactly: {} }] }],
      ["a bad label", "spec.metadata", { labels: { "a b": "c" } }],
    ],
    updates: [["other devices", "spec.spec.devices", {}]],
  },
  {
    kind: "DeviceClass",
    apiVersion: "resource.k8s.io/v1",
    resource: "deviceclasses",
    isNamespaced: false,
    body: { spec: { selectors: [{ cel: { expression: "device.driver == 'd'" } }] } },
    changes: [
      ["nothing", "spec", {}],
      ["a selector of nothing", "spec.selectors", [{}]],
      ["an extended resource", "spec.extendedResourceName", "example.com/gpu"],
      ["a bad extended resource", "spec.extendedResourceName", "gpu"],
    ],
    updates: [["other devices", "spec.selectors", []]],
  },
];
