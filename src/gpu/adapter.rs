//! The machine's adapters, and which one a user means.

use std::ffi::CStr;
use std::sync::OnceLock;

use wgpu::hal;

use super::GpuError;

/// Which adapter to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The first hardware GPU: discrete before integrated before virtual. Never a software adapter.
    #[default]
    Auto,
    /// The adapter with this index in [`adapters`], or else the first whose name contains this text,
    /// whatever its case. Software adapters can be named.
    Named(String),
}

impl Choice {
    /// `auto` and the empty string mean [`Choice::Auto`]; anything else is a name or an index.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "" | "auto" => Self::Auto,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// What sort of device an adapter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterKind {
    /// A graphics card with its own memory.
    Discrete,
    /// A GPU that shares the processor's memory.
    Integrated,
    /// A virtual machine's GPU.
    Virtual,
    /// A processor posing as a GPU, like Mesa's llvmpipe.
    Software,
    /// The driver does not say.
    Other,
}

impl AdapterKind {
    /// Rank for [`Choice::Auto`]; `None`: taken only by name.
    fn rank(self) -> Option<u32> {
        match self {
            Self::Discrete => Some(0),
            Self::Integrated => Some(1),
            Self::Virtual => Some(2),
            Self::Software | Self::Other => None,
        }
    }

    /// Whether it is a GPU, and no software that acts as one.
    pub fn is_hardware(self) -> bool {
        self.rank().is_some()
    }

    /// Whether its memory is, or may be, the host's, so that what is on it counts as memory of the process.
    pub fn shares_memory(self) -> bool {
        match self {
            Self::Integrated | Self::Software | Self::Other => true,
            Self::Discrete | Self::Virtual => false,
        }
    }

    /// The word that tables show.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Software => "software",
            Self::Other => "other",
        }
    }
}

impl From<wgpu::DeviceType> for AdapterKind {
    fn from(kind: wgpu::DeviceType) -> Self {
        match kind {
            wgpu::DeviceType::DiscreteGpu => Self::Discrete,
            wgpu::DeviceType::IntegratedGpu => Self::Integrated,
            wgpu::DeviceType::VirtualGpu => Self::Virtual,
            wgpu::DeviceType::Cpu => Self::Software,
            wgpu::DeviceType::Other => Self::Other,
        }
    }
}

/// What an adapter says about itself, as far as it matters here.
#[derive(Clone, Debug, serde::Serialize)]
pub struct AdapterReport {
    /// Its place in the list; `--device` takes it.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// What sort of device it is.
    pub kind: AdapterKind,
    /// The graphics API it is reached through.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// Bytes that one binding of a storage buffer may span.
    pub max_binding_bytes: u64,
    /// Bytes of the largest buffer.
    pub max_buffer_bytes: u64,
    /// Bytes of memory that a workgroup shares.
    pub workgroup_memory_bytes: u32,
    /// Invocations of the largest workgroup.
    pub max_workgroup_size: u32,
    /// Workgroups in one dimension of a dispatch.
    pub max_workgroups: u32,
    /// Whether shaders have 64-bit integers.
    pub int64: bool,
    /// Whether the device has clocks for kernels.
    pub timestamps: bool,
    /// Smallest and largest subgroup; `None`: shaders have no subgroup operations.
    pub subgroups: Option<(u32, u32)>,
    /// Whether [`Choice::Auto`] takes this one.
    pub auto: bool,
}

impl AdapterReport {
    /// What the adapter says; `auto` is left false.
    pub(super) fn of(index: usize, adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let features = adapter.features();
        let driver = format!("{} {}", info.driver, info.driver_info);
        Self {
            index,
            name: info.name,
            kind: info.device_type.into(),
            backend: info.backend.to_string(),
            driver: driver.trim().to_owned(),
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            max_buffer_bytes: limits.max_buffer_size,
            workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
            max_workgroup_size: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            int64: features.contains(wgpu::Features::SHADER_INT64),
            timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
            subgroups: features
                .contains(wgpu::Features::SUBGROUP)
                .then_some((info.subgroup_min_size, info.subgroup_max_size)),
            auto: false,
        }
    }
}

/// All adapters, in the driver's order.
pub(super) fn enumerate() -> Vec<wgpu::Adapter> {
    // One instance for the life of the process. Without any, the loader unloads the driver; a thread that has used
    // NVIDIA's driver then crashes at its end.
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| {
        without_display().unwrap_or_else(|| {
            wgpu::Instance::new(wgpu::InstanceDescriptor {
                backends: wgpu::Backends::VULKAN,
                flags: wgpu::InstanceFlags::empty(),
                ..wgpu::InstanceDescriptor::new_without_display_handle()
            })
        })
    });
    pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN))
}

/// The Vulkan extensions for drawing to windows, by system.
const WINDOWS: [&CStr; 3] = [c"VK_KHR_wayland_surface", c"VK_KHR_xlib_surface", c"VK_KHR_xcb_surface"];

/// An instance that cannot draw to windows. `None` if Vulkan gives none.
///
/// wgpu enables the extensions for windows wherever they exist. Mesa's layer that sorts the devices then connects to
/// the display at every enumeration, and libwayland complains on standard error if there is no display.
fn without_display() -> Option<wgpu::Instance> {
    let description = hal::InstanceDescriptor {
        name: "gamut",
        flags: wgpu::InstanceFlags::empty(),
        memory_budget_thresholds: wgpu::MemoryBudgetThresholds::default(),
        backend_options: wgpu::BackendOptions::default(),
        telemetry: None,
        display: None,
    };
    let drop_windows = |args: hal::vulkan::CreateInstanceCallbackArgs<'_, '_, '_>| {
        args.extensions.retain(|name| !WINDOWS.contains(name));
    };
    // SAFETY: the description holds no handle. The callback may not turn off what wgpu relies on. wgpu checks the list
    // of enabled extensions before it makes a surface, since some drivers lack these; gamut makes no surface.
    let instance = unsafe { hal::vulkan::Instance::init_with_callback(&description, Some(Box::new(drop_windows))) };
    // SAFETY: the instance was just made, and nobody else has it.
    Some(unsafe { wgpu::Instance::from_hal::<hal::api::Vulkan>(instance.ok()?) })
}

/// All adapters, software ones too, in the driver's order. An empty list if there is no driver.
pub fn adapters() -> Vec<AdapterReport> {
    let mut reports: Vec<_> = enumerate().iter().enumerate().map(|(i, a)| AdapterReport::of(i, a)).collect();
    if let Ok(index) = chosen(&reports, &Choice::Auto) {
        reports[index].auto = true;
    }
    reports
}

/// The index of the adapter that `choice` means.
///
/// # Errors
/// [`GpuError::NoAdapter`], [`GpuError::OnlySoftware`], [`GpuError::UnknownDevice`].
pub fn chosen(reports: &[AdapterReport], choice: &Choice) -> Result<usize, GpuError> {
    if reports.is_empty() {
        return Err(GpuError::NoAdapter);
    }
    let choices = || reports.iter().map(|r| format!("{} = {}", r.index, r.name)).collect::<Vec<_>>().join(", ");
    match choice {
        Choice::Auto => reports
            .iter()
            .enumerate()
            .filter_map(|(i, r)| Some((r.kind.rank()?, i)))
            .min()
            .map(|(_, i)| i)
            .ok_or_else(|| GpuError::OnlySoftware { choices: choices() }),
        Choice::Named(name) => {
            let wanted = name.to_lowercase();
            let found = match name.parse::<usize>() {
                // a number may stand in the name of another one, too
                Ok(index) => Some(index).filter(|&index| index < reports.len()),
                Err(_) => reports.iter().position(|r| r.name.to_lowercase().contains(&wanted)),
            };
            found.ok_or_else(|| GpuError::UnknownDevice { name: name.clone(), choices: choices() })
        }
    }
}
