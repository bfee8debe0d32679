/**
 * The behaviour of a simulated Pod: read from its annotations, or that of a healthy Pod.
 *
 *     sim.kcp.io/start-delay: 2s        until its containers run
 *     sim.kcp.io/ready-delay: 5s        from then until it is ready, plus its probe's initial delay
 *     sim.kcp.io/ready: "false"         never ready
 *     sim.kcp.io/fail: image-pull       its image cannot be pulled (or: create, no container)
 *     sim.kcp.io/crash-after: 3s        ends with exit code 1, again and again
 *     sim.kcp.io/exit-after: 3s         ends by itself, with sim.kcp.io/exit-code, 0 if omitted
 *     sim.kcp.io/log: text              prints the text when it starts
 *     sim.kcp.io/log-every: 1s          prints a line at this interval from then on
 *     sim.kcp.io/log-bytes: "1000000"   has printed this many bytes, in lines of 100 characters
 */
import { durationMs, type Pod } from "../api/index.ts";

export const annotationPrefix = "sim.kcp.io/";

export interface Behaviour {
  readonly startDelayMs: number;
  readonly readyDelayMs: number;
  readonly isEverReady: boolean;
  readonly failure: "image-pull" | "create" | undefined;
  /** How long a container runs; undefined if it runs until it is stopped. */
  readonly runMs: number | undefined;
  readonly exitCode: number;
}

export interface BehaviourDefaults {
  readonly startDelayMs: number;
  /** For Pods that run to completion: those of Jobs. */
  readonly runMs: number;
}

export function behaviourOf(pod: Pod, defaults: BehaviourDefaults): Behaviour {
  const said = (name: string) => pod.metadata.annotations?.[`${annotationPrefix}${name}`];
  const crashMs = durationMs(said("crash-after"));
  const isMeantToEnd = (pod.spec.restartPolicy ?? "Always") !== "Always";
  const exitMs = durationMs(said("exit-after")) ?? (isMeantToEnd ? defaults.runMs : undefined);
  const failure = said("fail");
  return {
    startDelayMs: durationMs(said("start-delay")) ?? defaults.startDelayMs,
    readyDelayMs: durationMs(said("ready-delay")) ?? probeDelayMs(pod),
    isEverReady: said("ready") !== "false",
    failure: failure === "image-pull" || failure === "create" ? failure : undefined,
    runMs: crashMs ?? exitMs,
    exitCode: crashMs !== undefined ? 1 : Number(said("exit-code") ?? 0) || 0,
  };
}

function probeDelayMs({ spec }: Pod): number {
  return spec.containers.reduce(
    (most, { readinessProbe }) =>
      Math.max(most, Number(readinessProbe?.["initialDelaySeconds"] ?? 0) * 1000),
    0,
  );
}
