//! Runs the jobs of a file, stage by stage.

use ssdlab_bench::host::{Host, Job as HostJob, Limits};
use ssdlab_bench::{BenchError, Monitor};
use ssdlab_catalog::Diagnostic;
use ssdlab_core::Rng;
use ssdlab_device::Device;
use ssdlab_workload::fio::{Job, JobFile, JobFileError, JobSource};
use ssdlab_workload::pattern::Extent;
use ssdlab_workload::{Command, Source};

use super::meter::JobMeter;
use super::report::JobReport;
use crate::failure::Failure;

/// A clone of a job, ready to run.
struct Clone {
    job: usize,
    host: HostJob<JobSource>,
}

/// Checks every job against the drive, then runs them all, and reports them in the order of the file.
///
/// # Errors
/// A job that does not fit the drive or asks for something that is not supported, before anything runs; a run that
/// fails or is stopped.
pub fn run<D: Device>(
    file: &JobFile,
    device: &mut D,
    seed: u64,
    monitor: &Monitor<'_>,
) -> Result<Vec<JobReport>, Failure> {
    let capacity = device.info().capacity_bytes;
    let rng = Rng::new(seed).stream("fio");
    let mut stages = Vec::new();
    for range in file.stages() {
        let mut clones = Vec::new();
        for index in range {
            let job = &file.jobs[index];
            for clone in 0..job.numjobs {
                let host = host_job(file, job, index, clone, capacity, &rng)?;
                clones.push(Clone { job: index, host });
            }
        }
        let delay = file.jobs[clones[0].job].startdelay;
        if let Some(other) = clones.iter().map(|c| &file.jobs[c.job]).find(|job| job.startdelay != delay) {
            return Err(unsupported(file, other, "startdelay", "jobs that start together must have the same delay"));
        }
        stages.push((delay, clones));
    }

    let mut host = Host::new(device, monitor);
    let groups = file.group_ids();
    let mut reports = Vec::new();
    let count = stages.len();
    for (stage, (delay, clones)) in stages.into_iter().enumerate() {
        monitor.step_of(stage, count);
        if delay > 0 {
            host.idle(delay).map_err(|e| failed(e.into()))?;
        }
        let indices: Vec<usize> = clones.iter().map(|c| c.job).collect();
        let mut jobs: Vec<HostJob<JobSource>> = clones.into_iter().map(|c| c.host).collect();
        let mut meters = vec![JobMeter::default(); jobs.len()];
        host.run(&mut jobs, &mut meters).map_err(|e| failed(e.into()))?;
        if indices.iter().any(|&i| file.jobs[i].end_fsync) {
            host.run(&mut [HostJob::new(Once(Some(Command::FLUSH)), 1)], &mut ()).map_err(|e| failed(e.into()))?;
        }
        for (index, meter) in indices.into_iter().zip(meters) {
            let job = &file.jobs[index];
            meter.all.check_causes().map_err(|e| failed(BenchError::Books(e)))?;
            reports.push((index, JobReport::new(&job.name, groups[index], job.iodepth, options(job), meter)));
        }
    }
    host.check_books().map_err(failed)?;
    Ok(grouped(file, reports))
}

/// Jobs of one group that ask for it are reported as one.
fn grouped(file: &JobFile, reports: Vec<(usize, JobReport)>) -> Vec<JobReport> {
    let mut out: Vec<(bool, JobReport)> = Vec::new();
    for (index, report) in reports {
        let together = file.jobs[index].group_reporting;
        match out.last_mut() {
            Some((true, last)) if together && last.group == report.group => last.merge(report),
            _ => out.push((together, report)),
        }
    }
    out.into_iter().map(|(_, report)| report).collect()
}

fn host_job(
    file: &JobFile,
    job: &Job,
    index: usize,
    clone: u32,
    capacity: u64,
    rng: &Rng,
) -> Result<HostJob<JobSource>, Failure> {
    let fits = |e: JobFileError| Failure::BadInput(diagnostic(&e));
    if job.thinktime > 0 && job.thinktime_blocks > 1 {
        return Err(unsupported(file, job, "thinktime_blocks", "only a pause after every request is simulated"));
    }
    let source = job.source(capacity, clone, &rng.stream(&format!("job {index}"))).map_err(fits)?;
    let pattern = job.pattern(capacity, clone).map_err(fits)?;
    // The source ends there by itself; the limit is for the progress report.
    let bytes = match pattern.extent {
        Extent::Passes(passes) => Some(pattern.span_bytes.saturating_mul(passes)),
        Extent::Bytes(bytes) => Some(bytes),
        Extent::Endless => None,
    };
    Ok(HostJob {
        source,
        queue_depth: job.iodepth,
        limits: Limits { duration: job.runtime, bytes, requests: None },
        think: job.thinktime,
        rate_iops: rate(file, job)?,
        ramp: job.ramp_time,
    })
}

/// Requests a second that the job may send at most, of all directions.
fn rate(file: &JobFile, job: &Job) -> Result<Option<u64>, Failure> {
    use ssdlab_workload::fio::Rw;
    let used: &[usize] = match job.rw {
        Rw::Read | Rw::RandRead => &[0],
        Rw::Write | Rw::RandWrite => &[1],
        Rw::Trim | Rw::RandTrim => &[2],
        Rw::ReadWrite | Rw::RandRw => &[0, 1],
        Rw::TrimWrite | Rw::RandTrimWrite => &[1, 2],
    };
    let mut rates = Vec::new();
    for &direction in used {
        let by_bytes = match job.rate_bytes[direction] {
            None => None,
            Some(bytes) => {
                let size = &job.sizes()[direction];
                if size.min_bytes() != size.max_bytes() {
                    return Err(unsupported(file, job, "rate", "needs a single block size; use rate_iops"));
                }
                Some((bytes / size.max_bytes()).max(1))
            }
        };
        let rate = match (job.rate_iops[direction], by_bytes) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        rates.push(rate);
    }
    match rates[..] {
        [one] => Ok(one),
        [None, None] => Ok(None),
        // Both directions share the queue, so they are paced together; with the default mix that is what fio does.
        [Some(a), Some(b)] if a == b => Ok(Some(a + b)),
        _ => Err(unsupported(
            file,
            job,
            "rate_iops",
            "reads and writes of one job can only be paced at the same rate; use a job for each",
        )),
    }
}

fn unsupported(file: &JobFile, job: &Job, option: &str, why: &str) -> Failure {
    Failure::bad_input(format!("{}: job `{}`: {option} cannot be used like this here: {why}", file.file, job.name))
}

fn failed(error: BenchError) -> Failure {
    if error.is_cancelled() {
        Failure::run("stopped before the jobs had finished")
    } else {
        Failure::run(format!("the jobs failed: {error}"))
    }
}

/// A job file's error in the form of every other message.
pub fn diagnostic(error: &JobFileError) -> Diagnostic {
    match error {
        JobFileError::Read { file, source } => Diagnostic::new(format!("cannot read the job file {file}: {source}"))
            .help("give the path of a readable fio job file"),
        JobFileError::Empty { file } => Diagnostic::new(format!("{file} has no job"))
            .help("a job file needs at least one section such as [job] besides [global]"),
        JobFileError::Syntax { file, line, problem } => {
            crate::place::at_line(Diagnostic::new(problem.clone()), file, *line as u64)
        }
        JobFileError::UnknownOption { file, line, option, nearest } => {
            let what = Diagnostic::new(format!("unknown option `{option}`"));
            let what = match nearest {
                Some(name) => what.help(format!("did you mean `{name}`?")),
                None => what.help("docs of fio list its options; those that concern a drive are known here"),
            };
            crate::place::at_line(what, file, *line as u64)
        }
        JobFileError::Value { file, line, option, problem } => {
            crate::place::at_line(Diagnostic::new(format!("{option}: {problem}")), file, *line as u64)
        }
        JobFileError::Job { file, line, job, problem } => {
            crate::place::at_line(Diagnostic::new(format!("job `{job}`: {problem}")), file, *line as u64)
        }
    }
}

/// The options that matter, in fio's names, for the JSON.
fn options(job: &Job) -> Vec<(String, String)> {
    let sizes = job.sizes();
    let size = |direction: usize| {
        let s = &sizes[direction];
        if s.min_bytes() == s.max_bytes() {
            s.max_bytes().to_string()
        } else {
            format!("{}-{}", s.min_bytes(), s.max_bytes())
        }
    };
    let bs = if size(0) == size(1) { size(0) } else { format!("{},{},{}", size(0), size(1), size(2)) };
    let mut options = vec![
        ("name".to_owned(), job.name.clone()),
        ("rw".to_owned(), job.rw.as_str().to_owned()),
        ("bs".to_owned(), bs),
        ("iodepth".to_owned(), job.iodepth.to_string()),
        ("numjobs".to_owned(), job.numjobs.to_string()),
    ];
    if let Some(runtime) = job.runtime {
        options.push(("runtime".to_owned(), (runtime / 1_000_000_000).to_string()));
    }
    if matches!(job.rw, ssdlab_workload::fio::Rw::ReadWrite | ssdlab_workload::fio::Rw::RandRw) {
        options.push(("rwmixread".to_owned(), job.read_percent.to_string()));
    }
    options
}

/// A source of one command.
struct Once(Option<Command>);

impl Source for Once {
    fn next(&mut self) -> Option<Command> {
        self.0.take()
    }
}
