/**
 * Comprehensions: loops over lists and maps.
 *
 * The forms that macros produce have loops of their own: quantifiers stop early, and lists and maps
 * grow in place instead of being copied in every round. They are charged exactly the cost of the
 * general fold.
 */
import { type ComprehensionExpr, isBinding } from "../syntax/ast.ts";
import { kindOf } from "../values/kind.ts";
import { CelError, CelList, CelMap, type CelResult, type CelValue } from "../values/value.ts";
import { forEach, type Loop, type LoopSlots } from "./iteration.ts";
import { evaluate, isAtOnce, type Plan, type Planning, planGuarded, SKIPPED } from "./plan.ts";
import { planAppend, planInsert } from "./plan-accumulation.ts";
import { planQuantifier } from "./plan-quantifier.ts";

export function planComprehension(planning: Planning, e: ComprehensionExpr): Plan {
  if (isBinding(e)) return planBinding(planning, e);
  const range = planning.plan(e.iterRange);
  const init = planning.plan(e.accuInit);
  return planning.locals.with([e.accuVar], (accuSlot) => {
    const iterationNames = e.iterVar2 === undefined ? [e.iterVar] : [e.iterVar, e.iterVar2];
    const loop = planning.locals.with(iterationNames, (slot) => {
      const setSlots = e.iterVar2 === undefined ? { one: slot } : { key: slot, value: slot + 1 };
      return planLoop(planning, e, { accuSlot, slots: setSlots });
    });
    const result = planning.plan(e.result);
    return {
      *resumable(context) {
        const collection = yield* evaluate(range, context);
        if (collection instanceof CelError) return collection;
        if (!(collection instanceof CelList || collection instanceof CelMap)) {
          return notIterable(collection);
        }
        context.locals[accuSlot] = yield* evaluate(init, context);
        yield* loop(context, collection);
        return yield* evaluate(result, context);
      },
    };
  });
}

/** As cel-go names its own types. */
function notIterable(value: CelValue): CelError {
  const kind = kindOf(value);
  const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  return new CelError(`got 'types.${name}', expected iterable type`);
}

function planBinding(planning: Planning, e: ComprehensionExpr): Plan {
  const value = planning.plan(e.accuInit);
  return planning.locals.with([e.accuVar], (slot) => {
    const result = planning.plan(e.result);
    // An error is bound like any value: it counts only if the name is used.
    if (isAtOnce(value) && isAtOnce(result)) {
      return {
        run: (context) => {
          context.locals[slot] = value.run(context);
          return result.run(context);
        },
      };
    }
    return {
      *resumable(context) {
        context.locals[slot] = yield* evaluate(value, context);
        return yield* evaluate(result, context);
      },
    };
  });
}

function planLoop(planning: Planning, e: ComprehensionExpr, slots: LoopSlots): Loop {
  return (
    planQuantifier(planning, e, slots) ??
    planAppend(planning, e, slots) ??
    planInsert(planning, e, slots) ??
    planFold(planning, e, slots)
  );
}

function planFold(planning: Planning, e: ComprehensionExpr, { accuSlot, slots }: LoopSlots): Loop {
  const condition = planning.plan(e.condition);
  const plan = planGuarded(condition, planning.plan(e.step), () => SKIPPED);
  return (context, collection) => {
    const take = (value: CelResult) => {
      if (value === SKIPPED) return false;
      context.locals[accuSlot] = value;
      return true;
    };
    return forEach(context, collection, { slots, plan, take });
  };
}
