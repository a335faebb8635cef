//! The rows of a part, which a thread of its own reads: DataFusion's threads must not wait for files.

use std::sync::Arc;
use std::thread;

use arrow::array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::source::Part;

/// Batches that wait for DataFusion. Frazil reads ahead as well, so more would only need memory.
const WAITING: usize = 1;

/// A batch, or the end. A thread that stops without an end has failed, and rows are missing.
enum Message {
    Batch(RecordBatch),
    Failure(DataFusionError),
    End,
}

/// Starts to read a part. Its batches have the columns of `schema`. Dropping the stream stops the reader.
pub(crate) fn read(part: Arc<Part>, schema: SchemaRef) -> Result<SendableRecordBatchStream> {
    let (sender, receiver) = channel(WAITING);
    let wanted = Arc::clone(&schema);
    let work = move || {
        let last = match pull(&part, &wanted, &sender) {
            Ok(()) => Message::End,
            Err(error) => Message::Failure(error),
        };
        // Nobody listens if the query ended before.
        sender.blocking_send(last).unwrap_or(());
    };
    thread::Builder::new()
        .name("frazil-datafusion".to_owned())
        .spawn(work)
        .map_err(|e| DataFusionError::Execution(format!("no thread could be started to read rows: {e}")))?;
    let batches = stream::unfold(Some(receiver), next);
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

async fn next(receiver: Option<Receiver<Message>>) -> Option<(Result<RecordBatch>, Option<Receiver<Message>>)> {
    let mut receiver = receiver?;
    match receiver.recv().await {
        Some(Message::Batch(batch)) => Some((Ok(batch), Some(receiver))),
        Some(Message::Failure(error)) => Some((Err(error), None)),
        Some(Message::End) => None,
        None => {
            let error = DataFusionError::Internal("the thread that reads rows stopped before their end".to_owned());
            Some((Err(error), None))
        }
    }
}

fn pull(part: &Part, schema: &SchemaRef, sender: &Sender<Message>) -> Result<()> {
    if sender.is_closed() {
        return Ok(());
    }
    let reader = part.open()?;
    let places = places(&reader.schema(), schema)?;
    // The reader is dropped here when nobody listens any more.
    for batch in reader {
        let batch = batch.map_err(readable)?;
        if sender.blocking_send(Message::Batch(arranged(&batch, &places, schema)?)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

/// Where each column of `schema` is among those that are read.
fn places(read: &SchemaRef, schema: &SchemaRef) -> Result<Vec<usize>> {
    schema.fields().iter().map(|field| Ok(read.index_of(field.name())?)).collect()
}

/// The batch with the columns of `schema`. Without columns it still has its number of rows.
fn arranged(batch: &RecordBatch, places: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = places.iter().map(|place| Arc::clone(batch.column(*place))).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// The error that Frazil's stream gave, without the name of the interface that carried it.
fn readable(error: ArrowError) -> DataFusionError {
    DataFusionError::Execution(match error {
        ArrowError::CDataInterface(text) => text,
        other => other.to_string(),
    })
}
