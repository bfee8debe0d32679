/**
 * The well-known columns of every kind that has them: in the order and with the texts of kubectl.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { workloadPrinter } from "./workload-printers.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
const at = (minutes: number) => `${new Date(now - minutes * 60_000).toISOString().slice(0, 19)}Z`;
const template = { spec: { containers: [{ name: "c", image: "i:1" }], nodeSelector: { a: "b" } } };
const selector = {
  matchLabels: { app: "x" },
  matchExpressions: [{ key: "k", operator: "In", values: ["2", "1"] }],
};
const selected = "app=x,k in (1,2)";

/**
 * The kind, an object of it, and its columns with the cells of the object; columns of wide output
 * begin with a star.
 */
type Case = readonly [kind: string, object: object, row: Readonly<Record<string, unknown>>];

const wide = { "*Containers": "c", "*Images": "i:1" };

const cases: readonly Case[] = [
  [
    "apps/Deployment",
    {
      spec: { replicas: 15, template, selector },
      status: { readyReplicas: 8, updatedReplicas: 9, availableReplicas: 7 },
    },
    { Ready: "8/15", "Up-to-date": 9, Available: 7, Age: "60m", ...wide, "*Selector": selected },
  ],
  [
    "apps/ReplicaSet",
    { spec: { template, selector: {} }, status: { replicas: 1 } },
    { Desired: 1, Current: 1, Ready: 0, Age: "60m", ...wide, "*Selector": "<none>" },
  ],
  [
    "apps/StatefulSet",
    { spec: { replicas: 2, template }, status: { readyReplicas: 1 } },
    { Ready: "1/2", Age: "60m", ...wide },
  ],
  [
    "apps/DaemonSet",
    {
      spec: { template, selector },
      status: {
        desiredNumberScheduled: 5,
        currentNumberScheduled: 4,
        numberReady: 3,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
      },
    },
    {
      Desired: 5,
      Current: 4,
      Ready: 3,
      "Up-to-date": 2,
      Available: 1,
      "Node Selector": "a=b",
      Age: "60m",
      ...wide,
      "*Selector": selected,
    },
  ],
  [
    "batch/Job",
    {
      spec: { completions: 3, template, selector },
      status: {
        succeeded: 3,
        startTime: at(30),
        completionTime: at(28),
        conditions: [{ type: "Complete", status: "True" }],
      },
    },
    {
      Status: "Complete",
      Completions: "3/3",
      Duration: "2m",
      Age: "60m",
      ...wide,
      "*Selector": selected,
    },
  ],
  [
    "batch/Job",
    { spec: { parallelism: 4, template }, status: {} },
    {
      Status: "Running",
      Completions: "0/1 of 4",
      Duration: "",
      Age: "60m",
      ...wide,
      "*Selector": "<none>",
    },
  ],
  [
    "batch/CronJob",
    {
      spec: { schedule: "* * * * *", suspend: false, jobTemplate: { spec: { template } } },
      status: { active: [{ name: "x" }], lastScheduleTime: at(5) },
    },
    {
      Schedule: "* * * * *",
      Timezone: "<none>",
      Suspend: "False",
      Active: 1,
      "Last Schedule": "5m",
      Age: "60m",
      ...wide,
      "*Selector": "<none>",
    },
  ],
  [
    "/Pod",
    {
      spec: { containers: [{}, {}], nodeName: "n" },
      status: {
        phase: "Running",
        podIP: "10.0.0.1",
        containerStatuses: [
          { ready: true, restartCount: 0, state: { running: {} } },
          {
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { finishedAt: at(2) } },
          },
        ],
      },
    },
    {
      Ready: "1/2",
      Status: "CrashLoopBackOff",
      Restarts: "3 (2m ago)",
      Age: "60m",
      "*IP": "10.0.0.1",
      "*Node": "n",
      "*Nominated Node": "<none>",
      "*Readiness Gates": "<none>",
    },
  ],
  [
    "/Pod",
    {
      metadata: { deletionTimestamp: at(1) },
      spec: { containers: [{}], readinessGates: [{ conditionType: "g" }] },
      status: { phase: "Running", conditions: [{ type: "g", status: "True" }] },
    },
    {
      Ready: "0/1",
      Status: "Terminating",
      Restarts: "0",
      Age: "60m",
      "*IP": "<none>",
      "*Node": "<none>",
      "*Nominated Node": "<none>",
      "*Readiness Gates": "1/1",
    },
  ],
  [
    "/Service",
    {
      spec: {
        type: "LoadBalancer",
        clusterIP: "10.0.0.2",
        ports: [{ port: 80, nodePort: 30080 }],
        selector: { app: "x" },
      },
    },
    {
      Type: "LoadBalancer",
      "Cluster-IP": "10.0.0.2",
      "External-IP": "<pending>",
      "Port(s)": "80:30080/TCP",
      Age: "60m",
      "*Selector": "app=x",
    },
  ],
  [
    "networking.k8s.io/Ingress",
    {
      spec: {
        ingressClassName: "nginx",
        tls: [{}],
        rules: ["a", "b", "c", "d"].map((host) => ({ host })),
      },
      status: { loadBalancer: { ingress: [{ ip: "10.1.1.1" }] } },
    },
    {
      Class: "nginx",
      Hosts: "a,b,c + 1 more...",
      Address: "10.1.1.1",
      Ports: "80, 443",
      Age: "60m",
    },
  ],
  [
    "/PersistentVolumeClaim",
    {
      spec: { volumeName: "v", storageClassName: "fast", volumeMode: "Filesystem" },
      status: {
        phase: "Bound",
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteMany", "ReadWriteOnce"],
      },
    },
    {
      Status: "Bound",
      Volume: "v",
      Capacity: "1Gi",
      "Access Modes": "RWO,RWX",
      StorageClass: "fast",
      VolumeAttributesClass: "<unset>",
      Age: "60m",
      "*VolumeMode": "Filesystem",
    },
  ],
  [
    "/Node",
    {
      metadata: { labels: { "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge" } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        nodeInfo: { kubeletVersion: "v1.36.0", osImage: "Linux" },
        addresses: [{ type: "InternalIP", address: "10.2.2.2" }],
      },
    },
    {
      Status: "Ready,SchedulingDisabled",
      Roles: "edge,worker",
      Age: "60m",
      Version: "v1.36.0",
      "*Internal-IP": "10.2.2.2",
      "*External-IP": "<none>",
      "*OS-Image": "Linux",
      "*Kernel-Version": "<unknown>",
      "*Container-Runtime": "<unknown>",
    },
  ],
  [
    "autoscaling/HorizontalPodAutoscaler",
    {
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "d" },
        maxReplicas: 9,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { averageUtilization: 80 } } },
          { type: "Pods", pods: { target: { averageValue: "10" } } },
          { type: "External", external: { target: { value: "5" } } },
        ],
      },
      status: {
        currentReplicas: 3,
        currentMetrics: [{ resource: { current: { averageUtilization: 40 } } }],
      },
    },
    {
      Reference: "Deployment/d",
      Targets: "cpu: 40%/80%, <unknown>/10 + 1 more...",
      MinPods: "<unset>",
      MaxPods: 9,
      Replicas: 3,
      Age: "60m",
    },
  ],
  [
    "autoscaling/HorizontalPodAutoscaler",
    {
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "d" },
        minReplicas: 1,
        maxReplicas: 9,
        targetCPUUtilizationPercentage: 80,
      },
    },
    {
      Reference: "Deployment/d",
      Targets: "cpu: <unknown>/80%",
      MinPods: "1",
      MaxPods: 9,
      Replicas: 0,
      Age: "60m",
    },
  ],
  [
    "/PersistentVolume",
    {
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteMany"],
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: "n", name: "c" },
        storageClassName: "fast",
        volumeMode: "Block",
      },
      status: { phase: "Bound" },
    },
    {
      Capacity: "1Gi",
      "Access Modes": "RWX",
      "Reclaim Policy": "Retain",
      Status: "Bound",
      Claim: "n/c",
      StorageClass: "fast",
      VolumeAttributesClass: "<unset>",
      Reason: "",
      Age: "60m",
      "*VolumeMode": "Block",
    },
  ],
  [
    "/Endpoints",
    {
      subsets: [
        {
          addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }],
          ports: [{ port: 80 }, { port: 81 }],
        },
      ],
    },
    { Endpoints: "10.0.0.1:80,10.0.0.1:81,10.0.0.2:80 + 1 more...", Age: "60m" },
  ],
  [
    "discovery.k8s.io/EndpointSlice",
    { addressType: "IPv4", ports: [{ port: 80 }], endpoints: [{ addresses: ["10.0.0.1"] }] },
    { AddressType: "IPv4", Ports: "80", Endpoints: "10.0.0.1", Age: "60m" },
  ],
  [
    "networking.k8s.io/IngressClass",
    {
      spec: {
        controller: "example.com/c",
        parameters: { kind: "Settings", apiGroup: "example.com", name: "s" },
      },
    },
    { Controller: "example.com/c", Parameters: "Settings.example.com/s", Age: "60m" },
  ],
  [
    "networking.k8s.io/NetworkPolicy",
    { spec: { podSelector: selector } },
    { "Pod-Selector": selected, Age: "60m" },
  ],
  [
    "networking.k8s.io/ServiceCIDR",
    { spec: { cidrs: ["10.0.0.0/8", "fd00::/8"] } },
    { CIDRs: "10.0.0.0/8,fd00::/8", Age: "60m" },
  ],
  [
    "networking.k8s.io/IPAddress",
    { spec: { parentRef: { resource: "services", namespace: "n", name: "s" } } },
    { ParentRef: "services/n/s", Age: "60m" },
  ],
  [
    "policy/PodDisruptionBudget",
    { spec: { minAvailable: "50%" }, status: { disruptionsAllowed: 2 } },
    { "Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 2, Age: "60m" },
  ],
  [
    "apps/ControllerRevision",
    {
      metadata: { ownerReferences: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "s" }] },
      revision: 2,
    },
    { Controller: "statefulset.apps/s", Revision: 2, Age: "60m" },
  ],
];

describe("the table of", () => {
  for (const [kind, object, row] of cases) {
    it(`${kind} has the columns of kubectl`, () => {
      const [group = "", name = ""] = kind.split("/");
      const printer = workloadPrinter(group, name);
      assert.ok(printer);
      const { metadata = {} } = object as { metadata?: object };
      const whole = { ...object, metadata: { creationTimestamp: at(60), ...metadata } };
      const cells = printer.cells(whole as JsonObject, now);
      const names = printer.columns.map((column) => (column.priority > 0 ? "*" : "") + column.name);
      assert.deepEqual(Object.fromEntries(names.map((each, i) => [each, cells[i]])), row);
      assert.deepEqual(names, Object.keys(row));
    });

    it(`${kind} bears objects with nothing in them, and with nonsense`, () => {
      const [group = "", name = ""] = kind.split("/");
      const printer = workloadPrinter(group, name);
      const hostile = { toString: 1, valueOf: 1 };
      const template = { spec: { containers: [{ name: hostile, image: hostile }] } };
      for (const odd of [
        {},
        { spec: 1, status: [], metadata: "x" },
        { spec: { rules: [1], metrics: [{}] } },
        {
          spec: { ports: [{ port: hostile }], selector: { matchLabels: { a: hostile } }, template },
          metadata: { ownerReferences: [{ apiVersion: hostile }] },
          subsets: [{ addresses: [{}], ports: [{ port: hostile }] }],
        },
      ])
        assert.equal(
          printer?.cells(odd as unknown as JsonObject, now).length,
          printer?.columns.length,
        );
    });
  }
});
