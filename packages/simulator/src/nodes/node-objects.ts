/** The Node objects of a simulated cluster, as their kubelets would register them. */
import { timestamp } from "@kcp-ts/sdk";
import type { Node } from "../api/index.ts";

export interface NodeOptions {
  readonly name: string;
  /** Quantities; 4 CPUs, 16Gi and 110 Pods if omitted. */
  readonly capacity?: { readonly cpu?: string; readonly memory?: string; readonly pods?: string };
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly {
    readonly key: string;
    readonly value?: string;
    readonly effect: string;
  }[];
}

export interface NodeInfo {
  readonly index: number;
  readonly kubeletVersion: string;
  readonly nowMs: number;
  /** The address of its kubelet, if it listens. */
  readonly kubeletAddress?: { readonly host: string; readonly port: number } | undefined;
}

export function nodeObject(
  { name, capacity = {}, labels = {}, taints = [] }: NodeOptions,
  { index, kubeletVersion, nowMs, kubeletAddress }: NodeInfo,
): Pick<Node, "metadata" | "spec" | "status"> {
  const resources = {
    cpu: capacity.cpu ?? "4",
    "ephemeral-storage": "100Gi",
    memory: capacity.memory ?? "16Gi",
    pods: capacity.pods ?? "110",
  };
  const address = kubeletAddress?.host ?? `172.18.${index >> 8}.${(index & 255) + 2}`;
  return {
    metadata: {
      name,
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        ...labels,
      },
    },
    spec: {
      podCIDR: `10.${244 + (index >> 8)}.${index & 255}.0/24`,
      providerID: `sim://${name}`,
      ...(taints.length === 0 ? {} : { taints }),
    },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: nodeConditions(nowMs),
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletAddress?.port ?? 10250 } },
      nodeInfo: {
        machineID: `sim${index}`,
        systemUUID: `sim${index}`,
        bootID: `sim${index}`,
        kernelVersion: "6.1.0-sim",
        osImage: "Simulated Linux",
        containerRuntimeVersion: "containerd://2.0.0",
        kubeletVersion,
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
    },
  };
}

const pressures = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
] as const;

export function nodeConditions(nowMs: number) {
  const now = timestamp(nowMs);
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  return [
    ...pressures.map(([type, reason, message]) => ({
      type,
      status: "False",
      ...times,
      reason,
      message,
    })),
    {
      type: "Ready",
      status: "True",
      ...times,
      reason: "KubeletReady",
      message: "kubelet is posting ready status",
    },
  ];
}
