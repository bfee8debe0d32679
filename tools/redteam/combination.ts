/** Several attacks in one workspace, whose steps take turns. */
import type { Attack, Step, StepResponse } from "./attack.ts";

type Steps = Generator<Step, void, StepResponse>;

export function combination(attacks: readonly Attack[]): Attack {
  return {
    name: "several attacks at once",
    *steps(context) {
      const { random } = context;
      const known = attacks as [Attack, ...Attack[]];
      let running: Steps[] = [];
      for (let i = 2 + random.integer(3); i > 0; i--)
        running.push(random.pick(known).steps({ ...context, random: random.fork() }));
      const responses = new Map<Steps, StepResponse>();
      while (running.length > 0) {
        const steps = random.pick(running as [Steps, ...Steps[]]);
        const { value, done } = steps.next(responses.get(steps) as StepResponse);
        if (done === true) running = running.filter((each) => each !== steps);
        else responses.set(steps, yield value);
      }
    },
  };
}
