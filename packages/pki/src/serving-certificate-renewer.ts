/**
 * Renews the serving certificates while the server runs, without a restart.
 *
 * It checks the files at least once an interval, not only when a renewal is due: timers cannot wait
 * for a year, clocks are set, and an operator may have replaced the files.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  ensureServingCertificates,
  type ServingCertificateOptions,
  type ServingCertificates,
} from "./serving-certificates.ts";

/** The longest time between two checks, and the time until the next one after a failure. */
export const checkIntervalMs = 60 * 60 * 1000;

export interface ServingCertificateRenewer {
  /** No callback is called after this. */
  stop(): void;
}

export function renewServingCertificates(
  options: ServingCertificateOptions & {
    readonly clock: Clock;
    /** The result of `ensureServingCertificates` at the start. */
    readonly current: ServingCertificates;
    /**
     * Called with new certificates for the listener (`setSecureContext`); new connections use them.
     */
    readonly onChange: (certificates: ServingCertificates) => void;
    /**
     * Called after a failure: the old certificates stay in use, and the next check is an interval
     * later.
     */
    readonly onError: (error: unknown) => void;
  },
): ServingCertificateRenewer {
  const { clock, onChange, onError } = options;
  let { current } = options;
  let stopped = false;
  let timer = clock.schedule(untilNextLook(), look);

  function untilNextLook(): number {
    return Math.min(checkIntervalMs, Math.max(0, current.nextRenewalAt - clock.now()));
  }

  function look(): void {
    ensureServingCertificates(options).then(
      (found) => {
        if (stopped) return;
        const changed =
          found.certificatePem !== current.certificatePem || found.caPem !== current.caPem;
        current = found;
        timer = clock.schedule(untilNextLook(), look);
        if (changed) onChange(found);
      },
      (error: unknown) => {
        if (stopped) return;
        timer = clock.schedule(checkIntervalMs, look);
        onError(error);
      },
    );
  }

  return {
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
