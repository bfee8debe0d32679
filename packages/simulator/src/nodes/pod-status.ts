/**
 * The status that a kubelet would report of a Pod at a given time. Pure: the same Pod, start and
 * time give the same status.
 */
import { timestamp } from "@kcp-ts/sdk";
import type {
  Condition,
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodStatus,
} from "../api/index.ts";
import type { Behaviour } from "./behaviour.ts";
import { type ContainerLifecycle, lifecycleAt } from "./container-lifecycle.ts";

export interface PodReport {
  readonly status: PodStatus;
  /** When the status changes by itself. */
  readonly nextAtMs: number | undefined;
}

export interface PodNetworkInfo {
  readonly podIP: string;
  readonly hostIP: string;
  /** When the kubelet first observed the Pod. */
  readonly firstSeenAtMs: number;
  /** The condition is reported since 1.29. */
  readonly hasSandboxCondition: boolean;
}

export function reportAt(
  pod: Pod,
  behaviour: Behaviour,
  place: PodNetworkInfo,
  nowMs: number,
): PodReport {
  const startAtMs = place.firstSeenAtMs + behaviour.startDelayMs;
  const restartPolicy = pod.spec.restartPolicy ?? "Always";
  const deadlineAtMs = deadlineOf(pod, place.firstSeenAtMs);
  if (deadlineAtMs !== undefined && nowMs >= deadlineAtMs) return expired(pod, place, deadlineAtMs);
  const life = lifecycleAt(behaviour, restartPolicy, startAtMs, nowMs);
  const { phase } = life;
  const isStarted = nowMs >= startAtMs && behaviour.failure === undefined;
  const readyAtMs = phase.kind === "running" ? phase.sinceMs + behaviour.readyDelayMs : undefined;
  const isReady = behaviour.isEverReady && readyAtMs !== undefined && nowMs >= readyAtMs;
  const isOver = phase.kind === "ended";
  const status: PodStatus = {
    ...pod.status,
    phase: isOver
      ? behaviour.exitCode === 0
        ? "Succeeded"
        : "Failed"
      : isStarted
        ? "Running"
        : "Pending",
    hostIP: place.hostIP,
    hostIPs: [{ ip: place.hostIP }],
    startTime: timestamp(place.firstSeenAtMs),
    ...(isStarted ? { podIP: place.podIP, podIPs: [{ ip: place.podIP }] } : {}),
    conditions: conditionsOf(pod, { isStarted, isReady, isOver, nowMs, place }),
    ...initStatuses(pod, startAtMs, nowMs),
    ...(isStarted ? ephemeralStatuses(pod, nowMs) : {}),
    containerStatuses: pod.spec.containers.map((container) =>
      containerStatus(pod, container, life, isReady, behaviour.exitCode),
    ),
  };
  const times = [
    life.nextAtMs,
    behaviour.isEverReady && !isReady ? readyAtMs : undefined,
    isOver ? undefined : deadlineAtMs,
  ].filter((one): one is number => one !== undefined);
  return { status, nextAtMs: times.length === 0 ? undefined : Math.min(...times) };
}

function deadlineOf({ spec }: Pod, seenAtMs: number): number | undefined {
  const { activeDeadlineSeconds: seconds } = spec;
  return seconds === undefined ? undefined : seenAtMs + seconds * 1000;
}

function expired(pod: Pod, place: PodNetworkInfo, atMs: number): PodReport {
  const facts = { isStarted: true, isReady: false, isOver: true, nowMs: atMs, place };
  const status: PodStatus = {
    ...pod.status,
    phase: "Failed",
    reason: "DeadlineExceeded",
    message: "Pod was active on the node longer than the specified deadline",
    conditions: conditionsOf(pod, facts),
  };
  return { status, nextAtMs: undefined };
}

function containerStatus(
  pod: Pod,
  container: Container,
  life: ContainerLifecycle,
  isReady: boolean,
  exitCode: number,
): ContainerStatus {
  const image = container.image ?? "";
  const containerID = `containerd://${digest(`${pod.metadata.uid ?? ""}/${container.name}/${life.restarts}`)}`;
  const hasRun = life.phase.kind !== "waiting" || life.last !== undefined;
  return {
    name: container.name,
    state: stateOf(life, exitCode, containerID),
    lastState:
      life.last === undefined ? {} : { terminated: terminated(life.last, exitCode, containerID) },
    ready: isReady,
    restartCount: life.restarts,
    image: image.includes("/") ? image : `docker.io/library/${image}`,
    imageID: hasRun ? `sha256:${digest(image)}` : "",
    ...(hasRun ? { containerID } : {}),
    started: life.phase.kind === "running",
  };
}

function stateOf(life: ContainerLifecycle, exitCode: number, containerID: string): ContainerState {
  const { phase } = life;
  switch (phase.kind) {
    case "waiting": {
      const { kind: _, ...waiting } = phase;
      return { waiting };
    }
    case "running":
      return { running: { startedAt: timestamp(phase.sinceMs) } };
    case "ended":
      return { terminated: terminated(phase, exitCode, containerID) };
  }
}

function terminated(
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  exitCode: number,
  containerID: string,
): NonNullable<ContainerState["terminated"]> {
  return {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    startedAt: timestamp(sinceMs),
    finishedAt: timestamp(untilMs),
    containerID,
  };
}

/** Init containers have completed when the other containers start. */
function initStatuses(pod: Pod, startAtMs: number, nowMs: number): Partial<PodStatus> {
  const { initContainers = [] } = pod.spec;
  if (initContainers.length === 0) return {};
  const isDone = nowMs >= startAtMs;
  const run = { sinceMs: startAtMs, untilMs: startAtMs };
  return {
    initContainerStatuses: initContainers.map((container) => {
      const isSidecar = container.restartPolicy === "Always";
      const life: ContainerLifecycle = {
        phase: !isDone
          ? { kind: "waiting", reason: "PodInitializing" }
          : isSidecar
            ? { kind: "running", sinceMs: startAtMs }
            : { kind: "ended", ...run },
        restarts: 0,
        last: undefined,
        nextAtMs: undefined,
      };
      return containerStatus(pod, container, life, isDone, 0);
    }),
  };
}

/** Ephemeral containers run from their addition until the Pod ends. */
function ephemeralStatuses(pod: Pod, nowMs: number): Partial<PodStatus> {
  const { ephemeralContainers = [] } = pod.spec;
  if (ephemeralContainers.length === 0) return {};
  const known = pod.status?.ephemeralContainerStatuses ?? [];
  return {
    ephemeralContainerStatuses: ephemeralContainers.map((container) => {
      const there = known.find(({ name }) => name === container.name);
      if (there !== undefined) return there;
      const phase = { kind: "running", sinceMs: nowMs } as const;
      const life = { phase, restarts: 0, last: undefined, nextAtMs: undefined };
      return containerStatus(pod, container, life, false, 0);
    }),
  };
}

interface ConditionFacts {
  readonly isStarted: boolean;
  readonly isReady: boolean;
  readonly isOver: boolean;
  readonly nowMs: number;
  readonly place: PodNetworkInfo;
}

function conditionsOf(pod: Pod, facts: ConditionFacts): Condition[] {
  const { isStarted, isReady, isOver, place } = facts;
  const names = pod.spec.containers.map(({ name }) => name).join(" ");
  const unready = isOver
    ? pod.status?.phase === "Failed"
      ? { reason: "PodFailed" }
      : { reason: "PodCompleted" }
    : { reason: "ContainersNotReady", message: `containers with unready status: [${names}]` };
  const holds = (type: string, is: boolean, why: Partial<Condition> = {}) =>
    kept(pod, { type, status: is ? "True" : "False", ...(is ? {} : why) }, facts.nowMs);
  const gates = isReady ? unmetGates(pod) : [];
  const closed = { reason: "ReadinessGatesNotReady", message: gates.join(", ") };
  const own = [
    ...(place.hasSandboxCondition
      ? [holds("PodReadyToStartContainers", isStarted && !isOver)]
      : []),
    holds("Initialized", true, {}),
    holds("Ready", isReady && gates.length === 0, isReady ? closed : unready),
    holds("ContainersReady", isReady, unready),
    holds("PodScheduled", true),
  ];
  // Other conditions belong to the controllers that set them.
  const others = (pod.status?.conditions ?? []).filter(
    ({ type }) => !own.some((one) => one.type === type),
  );
  return [...own, ...others];
}

/** The readiness gates that are not True, in the kubelet's words. */
function unmetGates({ spec, status }: Pod): string[] {
  return (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = status?.conditions?.find(({ type }) => type === conditionType);
    if (gate === undefined)
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return gate.status === "True"
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
}

/** lastTransitionTime stays while the status does. */
function kept(pod: Pod, condition: Condition, nowMs: number): Condition {
  const known = pod.status?.conditions?.find(({ type }) => type === condition.type);
  const since = known?.status === condition.status ? known.lastTransitionTime : undefined;
  return { ...condition, lastProbeTime: null, lastTransitionTime: since ?? timestamp(nowMs) };
}

/** A text that looks like a SHA-256 and is equal for equal texts. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  let out = "";
  for (let part = 0; part < 8; part++) {
    hash = Math.imul(hash ^ part, 0x9e3779b1) >>> 0;
    out += hash.toString(16).padStart(8, "0");
  }
  return out;
}
