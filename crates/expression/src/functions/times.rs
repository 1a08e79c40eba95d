//! The parts of points in time and of durations.

use crate::evaluation::{Evaluation, Failure, Outcome, unfit};
use crate::time;
use crate::value::Value;

/// All functions that read a part; which one, the name tells.
pub(crate) fn part<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    let (moment, zone) = match arguments {
        [Value::Timestamp(moment)] => (moment, "UTC"),
        [Value::Timestamp(moment), Value::String(zone)] => (moment, &**zone),
        [Value::Duration(length)] => {
            return of_duration(name, *length).ok_or_else(|| unfit(name, arguments));
        }
        _ => return Err(unfit(name, arguments)),
    };
    let civil = moment.civil_in(zone).map_err(Failure::new)?;
    Ok(Value::Int(match name {
        "getFullYear" => civil.year,
        "getMonth" => civil.month - 1,
        "getDayOfYear" => civil.day_of_year,
        "getDayOfMonth" => civil.day - 1,
        "getDate" => civil.day,
        "getDayOfWeek" => civil.weekday,
        "getHours" => civil.hour,
        "getMinutes" => civil.minute,
        "getSeconds" => civil.second,
        _ => moment.nanoseconds / 1_000_000,
    }))
}

fn of_duration<'a>(name: &str, length: i64) -> Option<Value<'a>> {
    let second = 1_000_000_000;
    Some(Value::Int(match name {
        "getHours" => time::in_units(length, 3600 * second) as i64,
        "getMinutes" => time::in_units(length, 60 * second) as i64,
        "getSeconds" => time::in_units(length, second) as i64,
        "getMilliseconds" => length / 1_000_000,
        _ => return None,
    }))
}
